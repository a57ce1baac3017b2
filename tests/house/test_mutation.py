"""Mutation testing: what is read from mutmut, and what is said of it."""

import json

import pytest

from tools import mutation

pytestmark = pytest.mark.weekly


@pytest.fixture
def run_of(tmp_path, monkeypatch):
    """Pretend that mutmut has left these exit codes."""

    def pretend(*codes):
        meta = tmp_path / "mutants" / "transformer_ref" / "masks.py.meta"
        meta.parent.mkdir(parents=True, exist_ok=True)
        names = [f"transformer_ref.masks.x_causal_mask__mutmut_{i}" for i in range(len(codes))]
        meta.write_text(json.dumps({"exit_code_by_key": dict(zip(names, codes, strict=True))}))

    monkeypatch.setattr(mutation, "COPY", tmp_path)
    monkeypatch.setattr(mutation, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(mutation, "mutmut", lambda *arguments: " ".join(arguments))
    return pretend


def test_what_no_test_noticed_is_counted_and_shown(run_of, capsys):
    run_of(1, 1, 36, 0, 33, *[1] * 12)
    assert mutation.main(["masks", "--keep"]) == 0
    printed = capsys.readouterr().out
    assert "show transformer_ref.masks.x_causal_mask__mutmut_3" in printed
    assert "show transformer_ref.masks.x_causal_mask__mutmut_4" in printed
    assert "masks: 15 of 17 noticed" in printed


@pytest.mark.parametrize("code", [None, 2, 35])
def test_mutants_without_a_verdict_are_an_error(run_of, code):
    run_of(1, code)
    with pytest.raises(RuntimeError, match="without a verdict"):
        mutation.read_score("masks")


def test_the_status_says_whether_the_goal_is_met(run_of):
    run_of(*[1] * 9, 0)
    assert mutation.main(["masks", "--keep"]) == 0
    run_of(*[1] * 8, 0, 0)
    assert mutation.main(["masks", "--keep"]) == 1


def test_a_run_keeps_what_it_did_not_measure(run_of, tmp_path):
    earlier = {"module": "gpt", "date": "2026-01-01", "mutants": 3, "noticed": 2}
    mutation.RESULTS.write_text(json.dumps({"modules": [earlier]}), encoding="utf-8")
    run_of(1, 1)
    mutation.main(["masks", "--keep"])
    written = json.loads(mutation.RESULTS.read_text(encoding="utf-8"))["modules"]
    assert written[1] == earlier
    assert (written[0]["module"], written[0]["mutants"], written[0]["noticed"]) == ("masks", 2, 2)


def test_every_mutated_module_and_its_tests_are_there():
    for module, tests in mutation.MODULES.items():
        assert (mutation.ROOT / "transformer_ref" / f"{module}.py").is_file()
        for name in tests:
            assert (mutation.ROOT / "tests" / "package" / f"test_{name}.py").is_file()


def test_an_unknown_module_is_named(capsys):
    with pytest.raises(SystemExit):
        mutation.main(["mask"])
    assert "unknown module mask; expected some of attention, masks" in capsys.readouterr().err
