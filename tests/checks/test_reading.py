"""tasks.toml: what is wrong with one is reported with its file, its task and the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer_checks.assignments.reading import FOLDER, TaskFileError, read_tasks

LENS = "[logit_lens]\n"
WHOLE = (FOLDER / "depth" / "tasks.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        (LENS, "[logit_lens\n", "line"),
        (LENS, "[other]\n", "other: no other_cases in cases.py"),
        ('stub = "logit_lens(', 'stab = "logit_lens(', "logit_lens: stub missing"),
        (LENS, f"{LENS}answers = 1\n", "logit_lens: unknown answers; known: any_float, ask"),
        ('stub = "logit_lens(', 'stub = "(', r"logit_lens: stub '\(model"),
        ('stub = "logit_lens(', 'stub = "lens(', "logit_lens: no lens in answers.py"),
        ('model = "STACK"', 'model = "STICK"', "no STICK in cases.py or made_arguments.py"),
        ("is_an_offset", "is_offset", "needed_offset: no is_offset in properties.py"),
        (LENS, f'{LENS}forbidden = ["@some"]\n', r"no group 'some' in \[groups\]"),
        (LENS, f"{LENS}nothing_to_learn = true\n", "logit_lens: not for a FunctionTask"),
        ('x = "B T D", returns = "N', 'y = "B T D", returns = "N', "no argument or result y"),
        ("{kept}", "{left}", "'left' in "),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error(
    tmp_path: Path, old: str, new: str, reported: str
) -> None:
    assert old in WHOLE
    path = tmp_path / "depth" / "tasks.toml"
    path.parent.mkdir()
    path.write_text(WHOLE.replace(old, new), encoding="utf-8")
    with pytest.raises(TaskFileError, match=reported) as caught:
        read_tasks("depth", tmp_path)
    assert str(path) in str(caught.value)
