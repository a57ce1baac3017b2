"""Mutation testing: what is read from mutmut, and what is said of it."""

import json

import pytest

from tools import mutation

pytestmark = pytest.mark.weekly

SHOWN = """# transformer_ref.masks.x_causal_mask__mutmut_3: survived
--- transformer_ref/masks.py
+++ transformer_ref/masks.py
@@ -13,5 +13,5 @@
     require_at_least_one(length=length)
-    return old
+    return new
"""
PLACE = ("masks.causal_mask", "return old", "return new")


@pytest.fixture
def run_of(tmp_path, monkeypatch):
    """Pretend that mutmut has left these exit codes."""

    def pretend(*codes):
        meta = tmp_path / "mutants" / "transformer_ref" / "masks.py.meta"
        meta.parent.mkdir(parents=True, exist_ok=True)
        names = [f"transformer_ref.masks.x_causal_mask__mutmut_{i}" for i in range(len(codes))]
        meta.write_text(json.dumps({"exit_code_by_key": dict(zip(names, codes, strict=True))}))

    monkeypatch.setattr(mutation, "COPY", tmp_path)
    monkeypatch.setattr(mutation, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(mutation, "mutmut", lambda *arguments: SHOWN)
    return pretend


def test_a_survivor_is_counted_and_shown_with_its_reason(run_of):
    run_of(1, 1, 36, 0)
    score = mutation.read_score("masks", {PLACE: "both are the same"})
    assert (score.mutants, score.noticed, score.rate) == (4, 3, 0.75)
    text = mutation.markdown([score], {"date": "today"})
    assert "| masks | 4 | 3 | 75.0% | 20" in text
    assert "```diff\n-return old\n+return new\n```\n\nboth are the same\n" in text
    assert "No reason is given" not in text


def test_a_change_that_no_test_reaches_lives_and_asks_for_a_reason(run_of):
    run_of(1, 33)
    score = mutation.read_score("masks", {})
    assert score.noticed == 1
    assert "**No reason is given yet.**" in mutation.markdown([score], {})


@pytest.mark.parametrize("code", [None, 2, 35])
def test_mutants_without_a_verdict_are_an_error(run_of, code):
    run_of(1, code)
    with pytest.raises(RuntimeError, match="without a verdict"):
        mutation.read_score("masks", {})


def test_methods_are_named_as_in_the_code(run_of):
    name = "transformer_ref.attention.xǁMultiHeadAttentionǁforward__mutmut_4"
    assert mutation.describe(name, {}).place == "attention.MultiHeadAttention.forward"


def test_the_status_says_whether_the_goal_is_met_and_all_is_explained(run_of, monkeypatch):
    monkeypatch.setattr(mutation, "read_reasons", lambda path: {})
    run_of(*[1] * 9, 0)
    assert mutation.main(["masks", "--keep"]) == 1  # nobody says why the last one lives
    monkeypatch.setattr(mutation, "read_reasons", lambda path: {PLACE: "because"})
    assert mutation.main(["masks", "--keep"]) == 0
    run_of(*[1] * 8, 0, 0)
    assert mutation.main(["masks", "--keep"]) == 1  # below the goal


def test_a_run_keeps_what_it_did_not_measure(run_of, tmp_path):
    run_of(1, 0)
    mutation.main(["masks", "--keep"])
    before = (tmp_path / "results" / "RESULTS.md").read_text(encoding="utf-8")
    assert "| masks | 2 | 1 | 50.0% |" in before
    (tmp_path / "results" / "survivors.toml").write_text(
        "[[survivor]]\nplace = 'masks.causal_mask'\nbefore = 'return old'\n"
        "after = 'return new'\nwhy = 'both are the same'\n",
        encoding="utf-8",
    )
    mutation.meta_file("masks").unlink()
    mutation.main(["attention", "--keep"])
    after = (tmp_path / "results" / "RESULTS.md").read_text(encoding="utf-8")
    assert after == before.replace("**No reason is given yet.**", "both are the same")


def test_every_mutated_module_and_its_tests_are_there():
    for module, tests in mutation.MODULES.items():
        assert (mutation.ROOT / "transformer_ref" / f"{module}.py").is_file()
        for name in tests:
            assert (mutation.ROOT / "tests" / "package" / f"test_{name}.py").is_file()


def test_an_unknown_module_is_named(capsys):
    with pytest.raises(SystemExit):
        mutation.main(["mask"])
    assert "unknown module mask; expected some of attention, masks" in capsys.readouterr().err
