"""The numbers in README.md are those of the results files, which one command each makes again."""

import ast
import io
import json
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODEL = [
    "attention",
    "cache",
    "pretrained",
    "embeddings",
    "gpt",
    "gpt2",
    "layers",
    "masks",
    "model",
    "positions",
]
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of_code(path: Path) -> int:
    """Count the lines that hold code: no comments, docstrings or blank lines."""
    source = path.read_text(encoding="utf-8")
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if first and ast.get_docstring(node) is not None:
                code -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(code)


def row(beginning: str) -> list[str]:
    """Return the cells of one row of the README's tables."""
    (line,) = [line for line in README.splitlines() if line.startswith(f"| {beginning}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_error_rates_are_those_of_the_shipped_model():
    results = json.loads((ROOT / "transformer_ref/assets/g2p/results.json").read_text())
    what, ours, *_ = row("word error rate")
    assert f"on {results['words']['test']:,} unseen words" in what
    wer, per = (100 * results["test"][rate] for rate in ("wer", "per"))
    assert ours == f"{wer:.2f}% ({per:.2f}%)"


def test_figures_are_those_of_the_benchmarks():
    rows = json.loads((ROOT / "benchmarks/results.json").read_text())["results"]
    measured = {f"{row['value']:.2f}" for row in rows if row["value"] is not None}
    quoted = re.findall(r"^\| .* \| ([\d.]+) \| [^|]* \| `make bench`", README, re.MULTILINE)
    assert len(quoted) >= 2
    assert set(quoted) <= measured
    assert not [row["what"] for row in rows if row["failed"]]


def test_the_score_on_multi30k_is_that_of_its_results():
    results = json.loads((ROOT / "transformer_ref/assets/multi30k/results.json").read_text())
    beam = results["test"]["beam"]
    score, lowercase = beam["bleu"]["score"], beam["bleu_lowercase"]["score"]
    parameters, minutes = results["parameters"] / 1e6, results["seconds_of_training"] / 60
    _, ours, peer, _ = row("BLEU on Multi30k")
    assert ours == (
        f"{score:.2f} with {parameters:.1f} M parameters, after {minutes:.0f} minutes on one core"
    )
    assert f"(ours: {lowercase:.2f})" in peer


def test_the_model_is_read_in_an_evening():
    package = ROOT / "transformer_ref"
    model = sum(lines_of_code(package / f"{name}.py") for name in MODEL)
    everything = sum(
        lines_of_code(path)
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in ("checks", "experiments")
    )
    assert f"about {round(model, -2):,} lines of code" in README
    assert f"the command line it is about {round(everything, -2):,}" in README


def test_the_share_of_noticed_mutants_is_that_of_its_results():
    modules = json.loads((ROOT / "tests/mutation.json").read_text())["modules"]
    mutants, noticed = (sum(m[key] for m in modules) for key in ("mutants", "noticed"))
    share = noticed / mutants
    assert f"in {mutants:,} small ways; the tests notice {share:.1%} (" in README
    assert share >= 0.85
