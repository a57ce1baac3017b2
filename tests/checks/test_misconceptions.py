"""The files of misconceptions: what their marks mean, and that each mistake in one is located."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transformer_checks.assignments.attention import answers
from transformer_checks.assignments.misconceptions import (
    MisconceptionError,
    misconceptions_of,
    read_misconceptions,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.registry import SLUGS, all_tasks
from transformer_checks.task import Misconception

ELSEWHERE = {"far": Misconception("far", "far away", "a hint", (change("x", "y"),), "an error")}
FILE = """\
Text before the first heading is for people.

# Shared: used by two tasks

## near: a title: with a colon
A hint of two
lines.
- `a` -> `b`
- `a` -> `c`

# first_task

So is text here.

- B_FOR_A: `a` -> `b`
- LONG: `a text`

## near
- B_FOR_A and as shared and LONG -> `d`

## own: a title
A hint.
- `a` -> `b`

# second_task

## far
- error: `another (error|one)`

## many: a title
With `code`, *stars*, <tags> & [brackets], as they are.
- `a` -> nothing or ` b` or `c\\nd`
- ``a`b`` -> `` `x` `` and LONG ->
  block
  ```
  one

      two

  ```
- `line\\n` -> block
  ```
  new line
  ```
- as above and B_FOR_A

## other-algorithm: a title
A hint.
- function
  ```python
  from itertools import pairwise

  def wrong(x):
      return [*pairwise(x)], split_heads
  ```
- write out `split_heads` before `wrong`
"""


def read(folder: Path, text: str) -> dict[str, dict[str, Misconception]]:
    """Read a file with this text; the misconceptions of each task by their keys."""
    file = folder / "misconceptions.md"
    file.write_text(text, encoding="utf-8")
    tasks, _ = read_misconceptions(file, ELSEWHERE, vars(answers))
    return {name: {each.key: each for each in found} for name, found in tasks.items()}


def test_what_the_marks_mean(tmp_path: Path) -> None:
    tasks = read(tmp_path, FILE)
    assert {name: [*found] for name, found in tasks.items()} == {
        "first_task": ["near", "own"],
        "second_task": ["far", "many", "other-algorithm"],
    }
    near = tasks["first_task"]["near"]
    assert (near.title, near.hint) == ("a title: with a colon", "A hint of two lines.")
    b_for_a, long = change("a", "b"), change("a text", "d")
    assert near.wrong == (b_for_a + b_for_a + long, b_for_a + change("a", "c") + long)
    far = tasks["second_task"]["far"]
    assert (far.title, far.error, far.wrong) == (
        "far away",
        "another (error|one)",
        ELSEWHERE["far"].wrong,
    )
    many = tasks["second_task"]["many"]
    assert many.hint == "With `code`, *stars*, <tags> & [brackets], as they are."
    above = (
        change("a", ""),
        change("a", " b"),
        change("a", "c\nd"),
        change("a`b", "`x`") + change("a text", "one\n\n    two\n"),
        change("line\n", "new line\n"),
    )
    assert many.wrong == (*above, *(way + b_for_a for way in above))


def test_functions_see_the_answers_and_answers_can_be_written_out(tmp_path: Path) -> None:
    wrong, written_out = read(tmp_path, FILE)["second_task"]["other-algorithm"].wrong
    assert not isinstance(wrong, Change)
    assert wrong("abc") == ([("a", "b"), ("b", "c")], answers.split_heads)
    assert isinstance(written_out, Change)
    (start, with_piece), call = written_out.steps
    assert start == "def wrong("
    assert with_piece.startswith("def split_heads(")
    assert with_piece.endswith("\n\n\ndef wrong(")
    assert call == ("reference.split_heads", "split_heads")


TASK = "# a_task\n\n## key: title\nA hint.\n"
WRONG = {
    "text in place of a heading": ("## key: title\nA hint.\n", 1, "expected '# task'"),
    "heading too deep": (f"{TASK}- `a` -> `b`\n\n### more\n", 7, "expected '# task'"),
    "no name of a task": ("\n# a task\n", 2, "expected the name of a task"),
    "task twice": ("# a_task\n# a_task\n", 2, "a second section"),
    "key twice": (f"{TASK}- `a` -> `b`\n\n## key: title\nA hint.\n- `a` -> `b`\n", 7, "a second"),
    "shared key twice": ("# Shared: x\n\n## far: title\nA hint.\n", 3, "a second"),
    "no key": ("# a_task\n\n## a key: title\nA hint.\n", 3, "expected 'key: title'"),
    "no hint": ("# a_task\n\n## key: title\n- `a` -> `b`\n", 3, "expected a hint"),
    "no change": (TASK, 3, "no change"),
    "no change but an error": (f"{TASK}- error: `x`\n", 3, "no change"),
    "unknown reference": ("# a_task\n\n## far, key\n", 3, "no shared misconception"),
    "text after the changes": (f"{TASK}- `a` -> `b`\n\nMore text.\n", 7, "neither the hint nor"),
    "two lists": (f"{TASK}- `a` -> `b`\n\n1. `a` -> `b`\n", 7, "neither the hint nor"),
    "list before the headings": ("- `a` -> `b`\n", 1, "only text may precede"),
    "change outside": ("# a_task\n\n- `a` -> `b`\n", 3, "expected '## key: title' above"),
    "name in small letters": ("# a_task\n- name: `b`\n", 2, "expected '## key: title' above"),
    "name twice": ("# a_task\n- A: `b`\n- A: `b`\n", 3, "A is defined twice"),
    "unknown name": (f"{TASK}- `a` -> `b`\n- A\n", 6, "no text or change above has the name A"),
    "change for a text": (f"# t\n- A: `a` -> `b`\n{TASK}- `a` -> A\n", 7, "the name of a change"),
    "no arrow": (f"{TASK}- `a` `b`\n", 5, "expected '->'"),
    "no new text": (f"{TASK}- `a` ->\n", 5, "the end of the item"),
    "unknown word": (f"{TASK}- `a` -> empty\n", 5, "got 'empty'"),
    "text after a change": (f"{TASK}- `a` -> `b` always\n", 5, "got 'always'"),
    "or after a name": (f"# t\n- A: `a` -> `b`\n{TASK}- A or `c`\n", 7, "got 'or'"),
    "block not there": (f"{TASK}- `a` -> block\n", 5, "expected a fenced block"),
    "block not used": (f"{TASK}- `a` -> `b`\n  ```\n  c\n  ```\n", 5, "does not mention"),
    "list in an item": (f"{TASK}- `a` -> `b`\n  - `c`\n", 5, "at most fenced blocks"),
    "nothing shared": (f"{TASK}- as shared\n", 5, "expected only changes shared"),
    "nothing above": (f"{TASK}- as above and `a` -> `b`\n", 5, "expected only changes above"),
    "function above": (
        f"{TASK}- function\n  ```\n  def f(): ...\n  ```\n- `a` -> `b`\n- as above\n",
        10,
        "got a function",
    ),
    "as what": (f"{TASK}- as before\n", 5, "got 'as before'"),
    "no expression": (f"{TASK}- `a` -> `b`\n- error: `(`\n", 6, "not a regular expression"),
    "no Python": (f"{TASK}- function\n  ```\n  def\n  ```\n", 5, "not Python"),
    "no function": (f"{TASK}- function\n  ```\n  x = 1\n  ```\n", 5, "defines no function"),
    "unknown answer": (f"{TASK}- write out `x` before `y`\n", 5, "no answer 'x'"),
    "half of write out": (f"{TASK}- write out `split_heads`\n", 5, "expected 'write out"),
}


@pytest.mark.parametrize(("text", "line", "message"), WRONG.values(), ids=WRONG)
def test_each_mistake_in_a_file_is_located(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    where = re.escape(f"{tmp_path / 'misconceptions.md'}:{line}: ")
    with pytest.raises(MisconceptionError, match=f"^{where}.*{re.escape(message)}"):
        read(tmp_path, text)


@pytest.mark.parametrize("slug", SLUGS)
def test_each_section_belongs_to_a_task(slug: str) -> None:
    names = [key.split(".")[1] for key in all_tasks() if key.startswith(f"{slug}.")]
    assert [*misconceptions_of(slug)] == names
