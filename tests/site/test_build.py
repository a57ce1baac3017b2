"""What builds the site: nothing is built twice, a failure changes nothing, gaps are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from docutils import nodes
from docutils.utils import new_document
from jupyter_cache import get_cache
from nbformat.v4 import new_code_cell, new_notebook, new_output

from book._extensions import api, execution, pages
from tools import build_book, course_zip, inputs
from tools.notebooks import find


@pytest.fixture
def workshop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the build work in a folder that holds one source file."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("# One\n")
    monkeypatch.setattr(build_book, "ROOT", tmp_path)
    monkeypatch.setattr(build_book, "SITE", tmp_path / "_build/html")
    monkeypatch.setattr(build_book, "STAGED", tmp_path / "staged")
    monkeypatch.setattr(course_zip, "write", lambda *_: None)
    monkeypatch.setattr(build_book, "digest", lambda names: inputs.digest(names, tmp_path))
    return tmp_path


def pretend_build(
    monkeypatch: pytest.MonkeyPatch, staged: Path, text: str, status: int
) -> list[str]:
    """Replace jupyter-book by one that writes `text` as start page and returns `status`."""
    calls: list[str] = []

    def jupyter_book(*_: str) -> int:
        calls.append(text)
        staged.mkdir(parents=True)
        (staged / "index.html").write_text(text)
        return status

    monkeypatch.setattr(build_book, "jupyter_book", jupyter_book)
    return calls


@pytest.mark.weekly
def test_nothing_is_built_twice(site: Path) -> None:
    start_page = (site / "index.html").stat().st_mtime_ns
    done = subprocess.run(
        [sys.executable, "-m", "tools.build_book"],
        cwd=build_book.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Nothing has changed" in done.stdout
    assert "http.server --directory _build/html" in done.stdout
    assert (site / "index.html").stat().st_mtime_ns == start_page


def test_a_changed_source_is_built_again(monkeypatch: pytest.MonkeyPatch, workshop: Path) -> None:
    calls = pretend_build(monkeypatch, workshop / "staged", "one", status=0)
    assert build_book.build() == 0
    assert build_book.build() == 0
    assert calls == ["one"]
    (workshop / "book" / "index.md").write_text("# Two\n")
    assert not build_book.is_current()
    assert build_book.build() == 0
    assert calls == ["one", "one"]


def test_a_failed_build_leaves_the_last_good_site(
    monkeypatch: pytest.MonkeyPatch, workshop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_build(monkeypatch, workshop / "staged", "good", status=0)
    assert build_book.build() == 0
    (workshop / "book" / "index.md").write_text("# Broken\n")
    pretend_build(monkeypatch, workshop / "staged", "bad", status=1)
    assert build_book.build() == 1
    assert "NOT built" in capsys.readouterr().out
    assert (workshop / "_build/html/index.html").read_text() == "good"
    assert not build_book.is_current()


@pytest.mark.parametrize("read_before", [True, False])
def test_what_an_earlier_build_has_read_fails_no_build(
    monkeypatch: pytest.MonkeyPatch, workshop: Path, read_before: bool
) -> None:
    """As a label does that has moved from one page to another."""
    remembered, calls = workshop / ".doctrees", []
    if read_before:
        remembered.mkdir()

    def jupyter_book(*_: str) -> int:
        calls.append(remembered.exists())
        (workshop / "staged").mkdir()
        (workshop / "staged" / "index.html").write_text("good")
        return 1 if remembered.exists() or not read_before else 0

    monkeypatch.setattr(build_book, "jupyter_book", jupyter_book)
    assert build_book.build() == (0 if read_before else 1)
    assert calls == ([True, False] if read_before else [False])


def test_a_page_that_left_the_book_leaves_the_site(
    monkeypatch: pytest.MonkeyPatch, workshop: Path
) -> None:
    pretend_build(monkeypatch, workshop / "staged", "good", status=0)
    (workshop / "staged").mkdir()
    (workshop / "staged" / "solution.html").write_text("an old answer")
    assert build_book.build() == 0
    assert not (workshop / "_build/html/solution.html").exists()


def test_a_build_without_a_start_page_is_refused(
    monkeypatch: pytest.MonkeyPatch, workshop: Path
) -> None:
    monkeypatch.setattr(build_book, "jupyter_book", lambda *_: 0)
    with pytest.raises(FileNotFoundError, match=r"index\.html"):
        build_book.build()


def test_only_outputs_of_this_package_are_kept(
    monkeypatch: pytest.MonkeyPatch, workshop: Path
) -> None:
    pretend_build(monkeypatch, workshop / "staged", "good", status=0)
    current = inputs.execution_cache(workshop)
    old = current.with_name("old")
    for cache in (current, old):
        cache.mkdir(parents=True)
    assert build_book.build() == 0
    assert (current.exists(), old.exists()) == (True, False)


@pytest.mark.weekly
def test_what_nbval_has_run_is_not_run_again(tmp_path: Path) -> None:
    """A notebook of which a cell fails is not kept."""
    figure = 'display({"image/png": "aQ==", "text/plain": "a figure"}, raw=True)'
    drawn = new_output("display_data", {"text/plain": "a figure"})
    notebooks = {}
    for name, printed in (("right", "1"), ("wrong", "2")):
        stored = new_output("stream", text=f"{printed}\n")
        cells = [
            new_code_cell(f"x = 1  # {name}", execution_count=1),
            new_code_cell("print(x)", execution_count=2, outputs=[stored]),
            new_code_cell(figure, execution_count=3, outputs=[drawn]),
        ]
        notebooks[name] = new_notebook(cells=cells)
        nbformat.write(notebooks[name], tmp_path / f"{name}.ipynb")
    plug_ins = ("-p", "tools.keep_executed", "--nbval", "--nbval-current-env")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plug_ins, f"--keep-executed={tmp_path}", str(tmp_path)],
        cwd=build_book.ROOT,
        capture_output=True,
        text=True,
    )
    assert "1 failed, 5 passed" in done.stdout
    cache = get_cache(inputs.execution_cache(tmp_path))
    with pytest.raises(KeyError):
        cache.match_cache_notebook(notebooks["wrong"])
    _, kept = cache.merge_match_into_notebook(notebooks["right"])
    assert kept.cells[1].outputs[0].text == "1\n"
    assert kept.cells[2].outputs[0].data["image/png"] == "aQ=="


def test_the_digest_sees_names_and_bytes_and_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "__pycache__").mkdir(parents=True)
    (package / "a.py").write_text("1")
    first = inputs.digest(["package", "missing"], tmp_path)
    (package / "__pycache__" / "a.pyc").write_text("compiled")
    assert inputs.digest(["package"], tmp_path) == first
    (package / "a.py").write_text("2")
    second = inputs.digest(["package"], tmp_path)
    (package / "a.py").rename(package / "b.py")
    assert len({first, second, inputs.digest(["package"], tmp_path)}) == 3


def test_a_hint_of_a_check_lets_no_chapter_run_again(tmp_path: Path) -> None:
    def key_after(name: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("changed")
        return inputs.execution_cache(tmp_path, tmp_path).name

    run_by_chapters = [
        "transformer_ref/attention.py",
        "transformer_ref/plotting.py",
        "transformer_ref/experiments/depth.py",
        "transformer_ref/assets/depth/results.json",
        "requirements.lock",
    ]
    keys = [key_after(name) for name in run_by_chapters]
    assert len(set(keys)) == len(keys)
    for name in (
        "transformer_checks/assignments/attention/misconceptions.md",
        "transformer_ref/experiments/README.md",
        "book/attention.ipynb",
    ):
        assert key_after(name) == keys[-1]


def test_no_chapter_imports_the_checks() -> None:
    for chapter in find([inputs.ROOT / "book"]):
        for cell in nbformat.read(chapter, as_version=4).cells:
            if cell.cell_type == "code":
                assert "transformer_checks" not in cell.source, f"{chapter}: {cell.id}"


def test_a_kernel_that_does_not_start_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [SimpleNamespace(errored=["book/works.ipynb"]), SimpleNamespace(errored=[])]
    runs: list[dict[str, Any]] = []

    def run_and_cache(**settings: Any) -> Any:
        runs.append(settings)
        return outcomes[len(runs) - 1]

    executor = SimpleNamespace(run_and_cache=run_and_cache)
    monkeypatch.setattr(execution, "load_executor", lambda *_: executor)
    monkeypatch.setattr(execution, "get_cache", lambda _: None)
    execution.execute("cache", 60, "book/works.ipynb")
    assert runs == [{"filter_uris": ["book/works.ipynb"], "timeout": 60}] * 2


@pytest.mark.weekly
def test_chapters_are_executed_ahead_and_kept(tmp_path: Path) -> None:
    """One that fails is not kept: myst-nb then tells what is wrong with it."""
    sources = {
        "book/works": "print(6 * 7)",
        "book/closer/works": "from pathlib import Path; print(Path.cwd().name)",
        "book/fails": "1 / 0",
        "solutions/not": "print(1)",
    }
    for name, source in sources.items():
        path = tmp_path / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(cells=[new_code_cell(source)]), path)
    settings = SimpleNamespace(nb_execution_cache_path=str(tmp_path), nb_execution_timeout=60)
    app: Any = SimpleNamespace(config=settings)
    env: Any = SimpleNamespace(doc2path=lambda name: f"{tmp_path}/{name}.ipynb")
    execution.execute_ahead(app, env, list(sources))
    kept = {
        Path(record.uri).relative_to(tmp_path).as_posix(): record
        for record in get_cache(str(tmp_path)).list_cache_records()
    }
    assert sorted(kept) == ["book/closer/works.ipynb", "book/works.ipynb"]
    for name, printed in (("book/works", "42\n"), ("book/closer/works", "closer\n")):
        page = nbformat.read(tmp_path / f"{name}.ipynb", as_version=4)
        _, merged = get_cache(str(tmp_path)).merge_match_into_notebook(page)
        assert merged.cells[0].outputs[0].text == printed

    execution.execute_ahead(app, env, ["book/works"])
    again = {record.pk: record.created for record in get_cache(str(tmp_path)).list_cache_records()}
    assert again == {record.pk: record.created for record in kept.values()}


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what the extension warns of; in a build each of these is an error."""
    seen: list[str] = []
    logger = SimpleNamespace(warning=lambda text, *values, **_: seen.append(text % values))
    for module in (api, pages):
        monkeypatch.setattr(module, "LOGGER", logger)
    return seen


@pytest.mark.parametrize("alt", ["", "   ", "../../_build/jupyter_execute/a1b2.png", "figure.svg"])
def test_a_figure_without_words_is_refused(warnings: list[str], alt: str) -> None:
    page = new_document("page")
    page += nodes.image(uri="a1b2.png", alt=alt)
    pages.require_alt_text(None, page, "book/page")
    assert len(warnings) == 1


def test_a_figure_with_words_is_accepted(warnings: list[str]) -> None:
    page = new_document("page")
    page += nodes.image(uri="a1b2.png", alt="The weights lie on the diagonal.")
    pages.require_alt_text(None, page, "book/page")
    assert warnings == []


def test_a_module_without_an_api_page_is_named(warnings: list[str]) -> None:
    all_but_masks = {
        f"transformer_ref.{name}": SimpleNamespace(objtype="module")
        for name in public_modules()
        if name != "masks"
    }
    env: Any = SimpleNamespace(domaindata={"py": {"objects": all_but_masks}})
    api.require_api_pages(None, env)
    assert len(warnings) == 1
    assert "transformer_ref.masks has no API page" in warnings[0]


def public_modules() -> list[str]:
    folder = inputs.ROOT / "transformer_ref"
    modules = [path.stem for path in folder.glob("*.py")]
    modules += [path.parent.name for path in folder.glob("*/__init__.py")]
    return [name for name in modules if not name.startswith("_")]


@pytest.mark.parametrize(
    ("repository", "colab"),
    [
        ("", False),
        ("https://github.com/owner/name", True),
        ("https://gitlab.com/owner/name/", False),
    ],
)
def test_one_address_switches_all_links_into_the_repository(repository: str, colab: bool) -> None:
    options: dict[str, Any] = {"repository_url": repository}
    config: Any = SimpleNamespace(html_theme_options=options, html_baseurl="")
    pages.switch_repository_links(None, config)
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        assert options[button] is bool(repository)
    assert bool(options["launch_buttons"]) is colab
    assert config.ogp_image is None


def test_leaving_out_the_solutions_takes_one_line() -> None:
    lines = (inputs.ROOT / "_toc.yml").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if "solutions/" in line and not line.lstrip().startswith("#")]
    # None where an instructor has removed it.
    assert [line.lstrip()[:21] for line in named] in ([], ["- { caption: Solution"])


def test_a_line_that_came_in_two_pieces_is_one_line() -> None:
    def piece(text: str, name: str = "stdout") -> Any:
        return new_output("stream", name=name, text=text)

    picture = new_output("display_data")
    outputs = [piece("one "), piece("aside\n", "stderr"), picture, piece("line\n\nafter\n")]
    found = execution.join_streams(outputs)
    assert [output.get("text") for output in found] == ["one line\n\nafter\n", "aside\n", None]
    assert outputs[0].text == "one "
