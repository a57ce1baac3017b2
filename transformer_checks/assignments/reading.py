"""Read the tasks of an assignment from its tasks.toml; README.md explains the fields."""

from __future__ import annotations

import builtins
import importlib
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.task import TOLERANCES, FunctionTask, ModuleTask, ProbeTask, Task

FOLDER = Path(__file__).parent
NEEDED = {"stub", "contract", "returns"}
OPTIONAL = {
    *("any_float", "ask", "cases", "demands", "find", "forbidden", "form"),
    *("makers", "nothing_to_learn", "observe", "properties", "reference", "shapes"),
    "tolerances",
}
FLAGS = {"any_float", "nothing_to_learn"}


class TaskFileError(ValueError):
    """A tasks.toml that cannot be used; the text names the file, the task and the field."""


@cache
def read_tasks(slug: str, folder: Path = FOLDER) -> dict[str, Task]:
    """Read the tasks of an assignment.

    Args:
        slug: of the assignment.
        folder: of all assignments.

    Returns:
        the tasks by their names, in the order of the file.

    Raises:
        TaskFileError: if a field is missing, unknown, or names something that is not there.
    """
    path = folder / slug / "tasks.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise TaskFileError(f"{path}: {error}") from error
    sentences, groups = tables.pop("sentences", {}), tables.pop("groups", {})
    reader = _Reader(path, slug, sentences, groups)
    return {name: reader.task(name, fields) for name, fields in tables.items()}


class _Reader:
    """Turns the tables of one file into tasks."""

    def __init__(
        self, path: Path, slug: str, sentences: Mapping[str, str], groups: Mapping[str, list[str]]
    ) -> None:
        self.path, self.slug, self.groups = path, slug, groups
        self.answers, self.cases, self.properties = map(
            self._module, ("answers", "cases", "properties")
        )
        # A sentence may contain those before it, and numbers of the cases such as {LOWEST:,.0f}.
        self.words = dict(vars(self.cases))
        for name, text in sentences.items():
            self.words[name] = self._filled(text, f"[sentences] {name}")

    def task(self, name: str, fields: dict[str, Any]) -> Task:
        if missing := NEEDED - fields.keys():
            raise self._error(name, f"{', '.join(sorted(missing))} missing")
        if unknown := fields.keys() - NEEDED - OPTIONAL:
            known = ", ".join(sorted(NEEDED | OPTIONAL))
            raise self._error(name, f"unknown {', '.join(sorted(unknown))}; known: {known}")
        stub = " ".join(fields["stub"].split())
        answer = re.match(r"(?:class )?(\w+)\(", stub)
        if answer is None:
            raise self._error(name, f"stub {stub!r} is not the head of a function or class")
        reference = str(fields.get("reference", answer[1]))
        own = f"transformer_checks.{self.slug}.{reference}"
        given: dict[str, Any] = {
            "key": f"{self.slug}.{name}",
            "stub": stub,
            "contract": self._filled(fields["contract"], name),
            "returns": tuple(fields["returns"]),
            "reference": self._named(name, reference, self.answers),
            "cases": self._named(name, fields.get("cases", f"{_snake(name)}_cases"), self.cases),
            "properties": tuple(
                self._property(name, text) for text in fields.get("properties", ())
            ),
            "forbidden": (*self._forbidden(name, fields.get("forbidden", ())), own),
            "shapes": self._shapes(name, stub, fields),
            "demands": tuple(fields.get("demands", ())),
            "load_misconceptions": lambda: misconceptions_of(self.slug)[name],
            "makers": {
                argument: self._named(name, maker, self.cases, made_arguments)
                for argument, maker in fields.get("makers", {}).items()
            },
        }
        if reference != answer[1]:
            given["answer"] = self._named(name, answer[1], self.answers)
        given |= self._optional(name, fields)
        is_class = stub.startswith("class ")
        kind = ProbeTask if "ask" in fields else ModuleTask if is_class else FunctionTask
        try:
            return kind(**given)
        except TypeError as error:
            raise self._error(name, f"not for a {kind.__name__}: {error}") from error

    def _optional(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {each: fields[each] for each in FLAGS & fields.keys()}
        if "form" in fields:
            given["form"] = eval(fields["form"], vars(builtins))  # such as list[str]
        if "tolerances" in fields:
            given["tolerances"] = TOLERANCES | {
                dtype: (relative, absolute)
                for dtype, (relative, absolute) in fields["tolerances"].items()
            }
        for field in ("observe", "ask", "find"):
            if field in fields:
                given[field] = self._named(name, fields[field], self.cases)
        return given

    def _module(self, name: str) -> ModuleType:
        return importlib.import_module(f"transformer_checks.assignments.{self.slug}.{name}")

    def _filled(self, text: str, where: str) -> str:
        """Put sentences and numbers in the places of their names; lines are joined."""
        try:
            return " ".join(text.split()).format_map(self.words)
        except (KeyError, ValueError, IndexError) as error:
            raise self._error(where, f"{error} in {text!r}") from error

    def _named(self, task: str, name: str, *modules: ModuleType) -> Any:
        """Find a name in modules, or in another one of the assignment: "questions.ask_gpt"."""
        if "." in name:
            other, name = name.split(".")
            modules = (self._module(other),)
        for module in modules:
            if hasattr(module, name):
                return getattr(module, name)
        places = " or ".join(f"{module.__name__.rpartition('.')[2]}.py" for module in modules)
        raise self._error(task, f"no {name} in {places}")

    def _shapes(self, task: str, stub: str, fields: dict[str, Any]) -> dict[str, tuple[str, ...]]:
        """Split shapes such as "... T K" into the names of their axes."""
        shapes: dict[str, str] = fields.get("shapes", {})
        known = {*re.findall(r"\w+", stub), *fields["returns"], "returns"}
        if unknown := shapes.keys() - known:
            raise self._error(task, f"shapes: no argument or result {', '.join(sorted(unknown))}")
        return {name: tuple(axes.split()) for name, axes in shapes.items()}

    def _property(self, task: str, text: str) -> Callable[..., Any]:
        """Return a function of properties.py, or what it makes of a text: "ends_with(norm2)"."""
        name, _, argument = text.removesuffix(")").partition("(")
        found: Callable[..., Any] = self._named(task, name, self.properties, made_arguments)
        return found(argument) if argument else found

    def _forbidden(self, task: str, names: list[str]) -> list[str]:
        """Replace each "@group" by the names in it."""
        found: list[str] = []
        for name in names:
            if not name.startswith("@"):
                found.append(name)
            elif name[1:] in self.groups:
                found += self.groups[name[1:]]
            else:
                raise self._error(task, f"forbidden: no group {name[1:]!r} in [groups]")
        return found

    def _error(self, task: str, what: str) -> TaskFileError:
        return TaskFileError(f"{self.path}, {task}: {what}")


def _snake(name: str) -> str:
    """Return the name of a class as functions are written: multi_head_attention."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
