"""What students read in another language: the same judgment, in its words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from babel.messages.catalog import Catalog
from torch import Tensor

import transformer_checks
from book import catalogs
from tests.site.test_languages import ENGLISH
from transformer_checks import translation
from transformer_checks.judging.words import MESSAGES, case_in_words
from transformer_checks.registry import SLUGS, find_task

HAN = re.compile(r"[\u3400-\u9fff]")
CODE = re.compile(r"`[^`]*`")


def sees_the_future(length: int, device: torch.device | None = None) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=device).triu()[None, None]


def as_numbers(length: int, device: torch.device | None = None) -> Tensor:
    return torch.ones(length, length, device=device).tril()[None, None]


def without_axes(length: int, device: torch.device | None = None) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def not_written(length: int, device: torch.device | None = None) -> Tensor:
    raise NotImplementedError


def right(length: int, device: torch.device | None = None) -> Tensor:
    return without_axes(length, device)[None, None]


@pytest.mark.parametrize(
    "answer", [sees_the_future, as_numbers, without_axes, not_written, right, None, 3]
)
def test_a_student_reads_chinese(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    english = transformer_checks.grade("masking.causal_mask", answer)
    monkeypatch.setenv(translation.LANGUAGE_VARIABLE, "zh_CN")
    chinese = transformer_checks.grade("masking.causal_mask", answer)
    same = ("score", "misconception", "relation", "passed", "total")
    assert [getattr(english, name) for name in same] == [getattr(chinese, name) for name in same]
    lines = chinese.message.splitlines()
    assert len(lines) == len(english.message.splitlines())
    assert all(HAN.search(line) for line in lines)
    assert ENGLISH.findall(CODE.sub("", chinese.message)) == []


def test_words_in_the_name_of_a_case_are_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "[3] x (2, 3), gradients, padding"
    assert case_in_words(name) == name
    monkeypatch.setenv(translation.LANGUAGE_VARIABLE, "zh_CN")
    assert case_in_words(name) == "[3] x (2, 3), 梯度, padding"


def test_an_unknown_language_is_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(translation.LANGUAGE_VARIABLE, "tlh")
    assert translation.say("{what} of {size}", what="a list", size=3) == "a list of 3"


def test_an_old_translation_is_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog()
    catalog.add("an old sentence", "¡old!", flags=["fuzzy"])
    catalog.add("a {new} one", "¡{new}!")
    catalogs.write(catalog, tmp_path / "eo/LC_MESSAGES/words.po", "eo")
    monkeypatch.setattr(translation, "LOCALE", tmp_path)
    monkeypatch.setenv(translation.LANGUAGE_VARIABLE, "eo")
    assert translation.languages() == ["eo"]
    assert translation.translate("an old sentence") == "an old sentence"
    assert translation.say("a {new} one", new="neu") == "¡neu!"


@pytest.mark.parametrize("language", translation.languages())
def test_all_that_the_checks_say_is_in_their_catalogs(language: str) -> None:
    folder = translation.LOCALE / language / "LC_MESSAGES"
    assert {path.stem for path in folder.glob("*.po")} == {catalogs.SHARED, *SLUGS}
    for name, messages in catalogs.messages_of_checks().items():
        known = {str(each.id) for each in catalogs.read(folder / f"{name}.po", language) if each.id}
        assert set(messages) == known, "run `make catalogs`"


@pytest.mark.weekly
@pytest.mark.parametrize("key", transformer_checks.tasks())
def test_a_mistake_in_any_task_is_told_in_chinese(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = find_task(key)
    monkeypatch.setenv(translation.LANGUAGE_VARIABLE, "zh_CN")
    first = MESSAGES["first-case"].partition("{")[0]
    message = transformer_checks.grade(key, task.wrong(task.misconceptions[0], 0)).message
    # The names of cases hold code, and what follows may quote an error of Python's.
    lines = CODE.sub("", message).partition(first)[0].splitlines()
    assert len(lines) > 1
    assert all(HAN.search(line) for line in lines)
    assert ENGLISH.findall("\n".join(lines)) == []
