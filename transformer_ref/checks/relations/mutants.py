"""Right answers with one small slip each: another sign, axis, border, or a step that is left out.

They are made from the source of the right answer, as misconceptions are, but by rule: nobody has
listed them.  What a slip is called names the step and never shows the line.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from transformer_ref.checks.authoring.changes import ALWAYS_THERE
from transformer_ref.checks.registry import all_tasks, find_task
from transformer_ref.checks.task import ModuleTask, Task

# A loop that a slip keeps from ending is cut off.
MOST_ROUNDS = 2_000
# To make and ask one takes about a millisecond, and two where the answer is a large module.
MOST_MUTANTS = 80
MOST_OF_LARGE = 30
# Of each earlier task whose answer this one calls.
MOST_OF_HELPER = 24

# What is tried first where there are more: slips that begin with these words.
FIRST = (
    *("a sign", "a comparison", "* and /", "& and |", "the step", "the argument", "a condition"),
    *("a term", "a factor", "a power", "of two cases", "only the first", "a loop", "`and`"),
)
LAST = ("at one place", "a number is another", "a part", "a product stands", "a sum stands")

EXCHANGED: tuple[tuple[str, str], ...] = (
    *(("min", "max"), ("amin", "amax"), ("argmin", "argmax"), ("sum", "mean"), ("any", "all")),
    *(("sin", "cos"), ("zeros", "ones"), ("tril", "triu"), ("softmax", "log_softmax")),
    *(("softmax", "sigmoid"), ("sqrt", "square"), ("tanh", "relu"), ("tanh", "sigmoid")),
    *(("logsigmoid", "sigmoid"), ("zeros_like", "ones_like"), ("var", "std"), ("floor", "ceil")),
    *(("max", "sum"), ("abs", "square"), ("flatten", "squeeze"), ("norm", "sum")),
)
# Methods and functions whose number, alone or behind others, is an axis.
OVER_AXES = {
    *("sum", "mean", "softmax", "log_softmax", "cumsum", "unsqueeze", "squeeze", "cat", "stack"),
    *("transpose", "sort", "argmax", "argmin", "topk", "amax", "amin", "any", "all", "norm", "var"),
    *("flip", "roll", "gather", "scatter", "flatten", "size", "index_select"),
}
Slip = tuple[str, ast.AST | None]


@dataclass(frozen=True)
class Mutant:
    """A right answer with one slip.

    Attributes:
        slip: what it is, to stand behind "a right answer in which".
        code: makes the function or class.
        module: of the right answer.
        name: of the function or class.
        helper: an earlier task's answer with the slip, which this one calls; None where the slip is
            in this answer itself.
    """

    slip: str
    code: CodeType
    module: str
    name: str
    helper: Mutant | None = None

    def build(self) -> Callable[..., Any]:
        """Return the function or class."""
        rounds = 0

        def tick() -> bool:
            nonlocal rounds
            rounds += 1
            if rounds > MOST_ROUNDS:
                raise RuntimeError("a loop does not end")
            return True

        space = ALWAYS_THERE | vars(sys.modules[self.module]) | {"_tick": tick}
        if self.helper is not None:
            changed = {self.helper.name: self.helper.build()}
            package = space.get("reference")
            known = vars(package) if isinstance(package, ModuleType) else {}
            space |= changed | {"reference": SimpleNamespace(**known | changed)}
        exec(self.code, space)
        built: Callable[..., Any] = space[self.name]
        return built


@lru_cache(maxsize=128)
def mutants_of(task: str) -> tuple[Mutant, ...]:
    """Make the slips of a task's right answer.

    Args:
        task: its key.

    Returns:
        the mutants, one for each slip, first those of the answer itself, then those of earlier
        answers that it calls.
    """
    found = find_task(task)
    answer = found.answer or found.reference
    tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    for loop in list(ast.walk(tree)):
        if isinstance(loop, ast.While | ast.For):
            loop.body.insert(0, ast.Expr(_tick()))
        elif isinstance(loop, ast.comprehension):
            loop.ifs.insert(0, _tick())
    _without_words(tree)
    whole = compile(ast.fix_missing_locations(tree), f"<{task}>", "exec")
    chosen = _chosen(list(_slips_of(tree)), found)
    made = []
    for place, slip in enumerate(_slips_of(tree)):
        if place not in chosen:
            continue
        ast.fix_missing_locations(tree)
        try:
            code = compile(tree, f"<{task}, slip>", "exec")
        except (SyntaxError, ValueError, TypeError):
            continue
        made.append(Mutant(slip, code, answer.__module__, answer.__name__))
    for helper in _helpers(tree, task):
        for mutant in sorted(mutants_of(helper), key=lambda each: _rank(each.slip))[
            :MOST_OF_HELPER
        ]:
            slip = f"{mutant.slip}, inside of `{mutant.name}`"
            made.append(Mutant(slip, whole, answer.__module__, answer.__name__, mutant))
    return tuple(made)


def _helpers(tree: ast.Module, task: str) -> list[str]:
    """List the tasks whose answers an answer calls, under their own names."""
    called = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        or (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "reference")
    }
    return [key for key in all_tasks() if key != task and key.split(".")[1] in called]


def _rank(slip: str) -> int:
    """Put the slips first that are made most often."""
    if slip.startswith(LAST):
        return 2
    return 0 if slip.startswith(FIRST) or "works along" in slip else 1


def _chosen(slips: list[str], task: Task) -> set[int]:
    """Choose the places of those that are tried."""
    large = isinstance(task, ModuleTask) or len(task.makers) > 0
    most = MOST_OF_LARGE if large else MOST_MUTANTS
    return set(sorted(range(len(slips)), key=lambda place: _rank(slips[place]))[:most])


def _tick() -> ast.Call:
    return ast.Call(ast.Name("_tick", ast.Load()), [], [])


def _without_words(tree: ast.AST) -> None:
    """Take docstrings and annotations out, and note the call that a keyword belongs to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.Call):
            for each in node.keywords:
                each.of_call = _called(node)  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = None


def _slips_of(tree: ast.Module) -> Iterator[str]:
    """Make one slip after the other in the tree; each is undone when the next is asked for."""
    arguments = _argument_names(tree)
    locals_ = sorted(
        arguments
        | {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    )
    for parent in list(ast.walk(tree)):
        if isinstance(parent, ast.Raise):
            continue
        for field, old in list(ast.iter_fields(parent)):
            if isinstance(old, list):
                yield from _in_list(parent, field, old, arguments, locals_)
            elif isinstance(old, ast.expr):
                for slip, new in _expressions(old, parent, arguments, locals_):
                    setattr(parent, field, new)
                    yield slip
                    setattr(parent, field, old)


def _argument_names(tree: ast.Module) -> set[str]:
    """Return the names that the task has given: of the outermost function, or of the methods."""
    outer = tree.body[0]
    functions = outer.body if isinstance(outer, ast.ClassDef) else [outer]
    return {
        argument.arg
        for function in functions
        if isinstance(function, ast.FunctionDef)
        for argument in function.args.args
    } - {"self"}


def _in_list(
    parent: ast.AST, field: str, entries: list[Any], arguments: set[str], locals_: list[str]
) -> Iterator[str]:
    """Make slips in the entries of a list: of statements, arguments or parts of a condition."""
    for place, old in enumerate(entries):
        if isinstance(old, ast.stmt):
            for slip, new in _statements(old, place, entries):
                entries[place] = new
                yield slip
                entries[place] = old
        elif isinstance(old, ast.expr) and not isinstance(parent, ast.Assign):
            for slip, new in _expressions(old, parent, arguments, locals_):
                entries[place] = new
                yield slip
                entries[place] = old
    if isinstance(parent, ast.Call) and field == "keywords":
        for place in range(len(entries)):
            old = entries.pop(place)
            yield f"the argument `{old.arg}` of `{_called(parent)}` is left out"
            entries.insert(place, old)
    if isinstance(parent, ast.comprehension) and field == "ifs" and len(entries) > 1:
        old = entries.pop()
        yield "a condition in a loop is left out"
        entries.append(old)
    if isinstance(parent, ast.Call) and field == "args" and len(entries) == 2:
        entries.reverse()
        yield f"the two arguments of `{_called(parent)}` are exchanged"
        entries.reverse()
    shown = isinstance(parent, ast.Tuple | ast.List) and isinstance(parent.ctx, ast.Load)
    if shown and field == "elts" and len(entries) == 2:
        entries.reverse()
        yield "two things that belong side by side are exchanged"
        entries.reverse()
    if isinstance(parent, ast.For) and field == "body":
        entries.append(ast.Break())
        yield "only the first round of a loop has an effect"
        entries.pop()
    if isinstance(parent, ast.BoolOp) and field == "values" and len(entries) > 1:
        for place in range(len(entries)):
            old = entries.pop(place)
            yield "one of several conditions is left out"
            entries.insert(place, old)


def _called(node: ast.Call) -> str:
    """Name what is called."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else "a function"


def _statements(node: ast.stmt, place: int, body: list[Any]) -> Iterator[Slip]:
    """Leave a statement out, or take a branch always or never."""
    if isinstance(node, ast.Break | ast.Continue):
        yield "a loop is not left where it should be", ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = _called(node.value)
        if name not in ("_tick", "__init__"):
            yield f"the step `{name}` is left out", ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield "a step that adds to a result is left out", ast.Pass()
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        earlier = {
            each.id
            for other in body[:place]
            for each in ast.walk(other)
            if isinstance(each, ast.Name)
        }
        if (
            isinstance(target, ast.Subscript)
            or (isinstance(target, ast.Name) and target.id in earlier)
            or (
                isinstance(target, ast.Name)
                and any(
                    isinstance(each, ast.Name) and each.id == target.id
                    for each in ast.walk(node.value)
                )
            )
        ):
            yield "a step that changes a result is left out", ast.Pass()
    if isinstance(node, ast.If):
        said = "of two cases, one is treated like the other"
        yield said, ast.If(ast.Constant(True), node.body, [])
        yield said, ast.If(ast.Constant(True), node.orelse or [ast.Pass()], [])
    if isinstance(node, ast.Return) and place and isinstance(node.value, ast.Name):
        return


def _expressions(
    node: ast.expr, parent: ast.AST, arguments: set[str], locals_: list[str]
) -> Iterator[Slip]:
    """Change one expression."""
    if isinstance(node, ast.BinOp):
        yield from _operators(node, arguments)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _comparisons(node)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "`and` and `or` are exchanged", ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield "a condition or a mask is turned round", node.operand
    elif isinstance(node, ast.Call):
        yield from _calls(node, arguments)
    elif isinstance(node, ast.IfExp):
        said = "of two cases, one is treated like the other"
        yield said, node.body
        yield said, node.orelse
    elif isinstance(node, ast.Slice):
        yield from _slices(node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _names(node, parent, arguments, locals_)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from _attributes(node)
    value = _number(node)
    if value is not None and not isinstance(parent, ast.UnaryOp):
        yield from _numbers(value, parent)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        name = parent.arg if isinstance(parent, ast.keyword) else "a switch"
        yield f"`{name}` is the other way round", ast.Constant(not node.value)


def _number(node: ast.expr) -> int | float | None:
    """Return the number that an expression writes, with its sign."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return None if isinstance(node.value, bool) else sign * node.value
    return None


def _numbers(value: float, parent: ast.AST) -> Iterator[Slip]:
    """Change a number: an axis to another one, a count by one, a factor or power."""
    called = _called(parent) if isinstance(parent, ast.Call) else ""
    keyword = parent.arg if isinstance(parent, ast.keyword) else ""
    called = called or getattr(parent, "of_call", "")
    if keyword in ("dim", "axis", "dims") or (called in OVER_AXES and not keyword):
        said = (
            f"`{called}` works along another axis" if called else "a step works along another axis"
        )
        for axis in (-1, -2, 0, 1, 2):
            if axis != value:
                yield said, _constant(axis)
        return
    if isinstance(value, int):
        for step in (1, -1):
            yield "a number is 1 too large or 1 too small", _constant(value + step)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow):
        for power in (-value, 2 * value, value / 2, 1, -1, -0.5, 0.5):
            if power != value:
                yield "a power is another one", _constant(power)
        return
    for number in (-value, 2 * value, value / 2, 0.0):
        if number != value:
            yield "a number is another one", _constant(number)


def _constant(value: float) -> ast.expr:
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _with(node: ast.AST, arguments: set[str]) -> str:
    """Name what stands in an expression: an argument of the task, or what was computed before."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    given = list(dict.fromkeys(name for name in names if name in arguments))
    if len(given) == 1:
        return f" with `{given[0]}`"
    made = list(dict.fromkeys(name for name in names if name not in _MODULES))
    return f" (there called `{made[0]}`)" if len(made) == 1 and not given else ""


_MODULES = ("torch", "F", "math", "nn", "reference", "self", "len", "range", "_tick")
SIGNS: dict[type[ast.operator], tuple[str, tuple[type[ast.operator], ...]]] = {
    ast.Add: ("a sign is turned: + and -", (ast.Sub,)),
    ast.Sub: ("a sign is turned: + and -", (ast.Add,)),
    ast.Mult: ("* and / are exchanged", (ast.Div,)),
    ast.Div: ("* and / are exchanged", (ast.Mult,)),
    ast.BitAnd: ("& and | are exchanged", (ast.BitOr,)),
    ast.BitOr: ("& and | are exchanged", (ast.BitAnd,)),
}


def _operators(node: ast.BinOp, arguments: set[str]) -> Iterator[Slip]:
    """Turn an operator, or leave out one side of it."""
    said, others = SIGNS.get(type(node.op), ("", ()))
    for other in others:
        yield said, ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult):
        yield (
            "the two sides of an operation are exchanged",
            ast.BinOp(node.right, node.op, node.left),
        )
    if isinstance(node.op, ast.Mult):
        yield "a sum stands for a product", ast.BinOp(node.left, ast.Add(), node.right)
    if isinstance(node.op, ast.Add):
        yield "a product stands for a sum", ast.BinOp(node.left, ast.Mult(), node.right)
    if isinstance(node.op, ast.Pow):
        yield "a power is left out", node.left
        return
    what = {ast.Add: "a term", ast.Sub: "a term", ast.Mult: "a factor", ast.Div: "a factor"}
    part = what.get(type(node.op), "a part")
    yield f"{part}{_with(node.right, arguments)} is left out", node.left
    left = node.left
    if isinstance(node.op, ast.Sub):
        left_out: ast.expr = ast.UnaryOp(ast.USub(), node.right)
        yield f"{part}{_with(left, arguments)} is left out", left_out
    yield f"{part}{_with(left, arguments)} is left out", node.right


def _comparisons(node: ast.Compare) -> Iterator[Slip]:
    borders: dict[type[ast.cmpop], type[ast.cmpop]] = {
        ast.Lt: ast.LtE,
        ast.LtE: ast.Lt,
        ast.Gt: ast.GtE,
        ast.GtE: ast.Gt,
    }
    turned: dict[type[ast.cmpop], type[ast.cmpop]] = {
        ast.Lt: ast.Gt,
        ast.LtE: ast.GtE,
        ast.Gt: ast.Lt,
        ast.GtE: ast.LtE,
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
    }
    kind = type(node.ops[0])
    if kind in borders:
        said = "a comparison takes its border in, or leaves it out: < and <="
        yield said, ast.Compare(node.left, [borders[kind]()], node.comparators)
    if kind in turned:
        said = "a comparison is turned round"
        yield said, ast.Compare(node.left, [turned[kind]()], node.comparators)


def _calls(node: ast.Call, arguments: set[str]) -> Iterator[Slip]:
    """Call another function, or none."""
    name = _called(node)
    if name == "_tick":
        return
    for pair in EXCHANGED:
        if name in pair:
            other = pair[1 - pair.index(name)]
            function: ast.expr = ast.Name(other, ast.Load())
            if isinstance(node.func, ast.Attribute):
                function = ast.Attribute(node.func.value, other, ast.Load())
            said = f"`{other}` stands for `{name}`"
            yield said, ast.Call(function, node.args, node.keywords)
    if name in ("range", "enumerate", "super", "len", "zip"):
        return
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is not None and not (isinstance(owner, ast.Name) and owner.id in _MODULES):
        yield f"the step `{name}` is left out", owner
    elif node.args:
        yield f"the step `{name}` is left out", node.args[0]


def _slices(node: ast.Slice) -> Iterator[Slip]:
    said = "a slice begins or ends at another place"
    for lower, upper in ((node.lower, None), (None, node.upper)):
        if (lower is None) != (node.lower is None) or (upper is None) != (node.upper is None):
            yield said, ast.Slice(lower, upper, node.step)
    for step in (1, -1):
        if node.lower is not None:
            more = ast.BinOp(node.lower, ast.Add(), _constant(step))
            yield f"{said}, one off", ast.Slice(more, node.upper, node.step)
        if node.upper is not None:
            more = ast.BinOp(node.upper, ast.Add(), _constant(step))
            yield f"{said}, one off", ast.Slice(node.lower, more, node.step)
    if node.lower is None and node.upper is not None and node.step is None:
        yield said, ast.Slice(_constant(1), node.upper, None)
    if node.upper is None and node.lower is not None and node.step is None:
        yield said, ast.Slice(node.lower, _constant(-1), None)


def _names(
    node: ast.Name, parent: ast.AST, arguments: set[str], locals_: list[str]
) -> Iterator[Slip]:
    """Another variable in the place of this one."""
    if node.id not in locals_ or (isinstance(parent, ast.Attribute) and node.id == "self"):
        return
    for other in locals_:
        if other == node.id:
            continue
        if node.id not in arguments or other not in arguments:
            continue
        said = f"`{other}` stands at one place where `{node.id}` should"
        yield said, ast.Name(other, ast.Load())


def _attributes(node: ast.Attribute) -> Iterator[Slip]:
    """Another layer of the module in the place of this one, or no transpose."""
    if node.attr == "T":
        yield "a transpose is left out", node.value
    match = node.attr
    if isinstance(node.value, ast.Name) and node.value.id == "self" and match[-1:].isdigit():
        for digit in "123":
            if digit != match[-1]:
                other = f"{match[:-1]}{digit}"
                said = f"`{other}` stands where `{match}` should"
                yield said, ast.Attribute(node.value, other, ast.Load())
