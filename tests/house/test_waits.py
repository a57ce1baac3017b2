"""Tests wait for a state, never for a time, and never ask once whether something is visible yet."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools.inputs import ROOT

SITE_TESTS = sorted((ROOT / "tests/site").glob("*.py"))
# What Playwright answers at once, from a page that may not be done; `expect` waits instead.
ANSWERED_AT_ONCE = {
    *("is_visible", "is_hidden", "is_enabled", "is_disabled"),
}
FOR_A_TIME = {"wait_for_timeout", "sleep"}


def refused(source: str) -> list[str]:
    """Name the calls, with their lines, that make a browser test depend on how fast it runs."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and re.search(r"\.count\(\) ==", ast.unparse(node)):
            found.append(f"line {node.lineno}: count, where expect(...).to_have_count waits")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name in ANSWERED_AT_ONCE | FOR_A_TIME:
                found.append(f"line {node.lineno}: {name}")
            waits_for = [node.args[0]] if name == "wait_for_load_state" and node.args else []
            waits_for += [word.value for word in node.keywords if word.arg == "wait_until"]
            if any(ast.unparse(each) == "'networkidle'" for each in waits_for):
                found.append(f"line {node.lineno}: networkidle")
            if any(word.arg == "timeout" for word in node.keywords) and name.startswith(
                ("to_", "not_to_", "wait_for")
            ):
                found.append(f"line {node.lineno}: a timeout that is not in tests/timeouts.py")
    return found


@pytest.mark.parametrize("path", SITE_TESTS, ids=lambda path: path.stem)
def test_a_browser_test_waits_for_a_state(path: Path) -> None:
    assert refused(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "page.wait_for_timeout(500)",
        "time.sleep(1)",
        "assert page.locator('a').is_visible()",
        "assert not figure.is_hidden()",
        "assert page.locator('a').count() == 0",
        "page.goto(url, wait_until='networkidle')",
        "page.wait_for_load_state('networkidle')",
        "expect(step).to_have_value('2', timeout=10_000)",
    ],
)
def test_what_depends_on_speed_is_refused(line: str) -> None:
    assert len(refused(line)) == 1
