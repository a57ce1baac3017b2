"""What `grade` and `check` promise: scores, messages, points, legal forms that are not punished."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as renamed

import transformer_ref.attention as reference
from transformer_checks import Result, check, contract, grade, tasks
from transformer_checks.judging.exam import Exam, make_exam
from transformer_checks.judging.verdict import judge
from transformer_checks.registry import find_task
from transformer_checks.running import wire_format
from transformer_checks.running.asking import run_case
from transformer_checks.running.isolation import AnswerElsewhere
from transformer_checks.running.process import Ended
from transformer_checks.task import Outcome

SCORES = "attention.attention_scores"
ATTENTION = "attention.scaled_dot_product_attention"
SPLIT = "attention.split_heads"
MODULE = "attention.MultiHeadAttention"
BUG = "attention.find_the_bug"
BRACKETS = "attention.bracket_head"


def scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def attend(query, key, value, mask=None):
    s = scores(query, key)
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    weights = s.softmax(-1)
    return weights @ value, weights


class Module(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, torch.nn.Linear(d_model, d_model))

    def forward(self, query, key, value, mask=None):
        pairs = ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        q, k, v = (layer(x).unflatten(2, (self.num_heads, -1)).mT for layer, x in pairs)
        q, k, v = (x.permute(0, 3, 1, 2) for x in (q, k, v))
        return self.out_proj(self.attend(q, k, v, mask).transpose(1, 2).flatten(2))

    @staticmethod
    def attend(query, key, value, mask):
        return attend(query, key, value, mask)[0]


# --- interface -------------------------------------------------------------------------------


def test_the_tasks_are_those_of_the_assignment():
    found = [task for task in tasks() if task.startswith("attention.")]
    others = ["attention.damage_by_head", "attention.redundant_heads", BRACKETS]
    assert found == [SCORES, ATTENTION, SPLIT, MODULE, BUG, *others]
    for task in found:
        # The others measure a module that is given, or set weights by hand.
        assert ("Gradients reach every input" in contract(task)) == (task not in others)


@pytest.mark.parametrize("task", tasks())
def test_a_contract_has_the_stub_and_what_may_not_be_called(task):
    stub, words, refused = contract(task).split("\n\n")
    assert "(" in stub
    assert "returns" in words.lower()
    assert refused.startswith("May not be called:\n  ")


@pytest.mark.parametrize("task", ["attention.nothing", "", "split_heads", None, 3])
def test_an_unknown_task_is_a_key_error_that_names_it(task):
    with pytest.raises(KeyError) as caught:
        grade(task, scores)
    assert repr(task) in str(caught.value)
    assert SPLIT in str(caught.value)


def test_accepted_means_exactly_one():
    result = grade(SCORES, scores)
    total = len(make_exam(SCORES, 0).cases)
    assert result == Result(1.0, None, f"{SCORES}: all {total} cases pass.", SCORES, total, total)
    assert type(result.score) is float


def test_the_same_seed_gives_the_same_result_and_another_one_other_cases():
    def wrong(query, key):
        return query @ key.mT

    first, again, other = (grade(SCORES, wrong, seed) for seed in (5, 5, 6))
    assert first == again
    assert first.message != other.message
    assert grade(SCORES, scores, seed=-3).score == 1.0


def test_check_prints_and_returns_the_points(capsys):
    assert check(SCORES, scores, 3) == 3.0
    total = len(make_exam(SCORES, 0).cases)
    assert capsys.readouterr().out == f"{SCORES}: all {total} cases pass.\nPoints: 3 of 3\n"
    points = check(SCORES, lambda query, key: None, 3, seed=4)
    assert points == 0.0
    captured = capsys.readouterr()
    assert "is a `return` missing?" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize("where", ["autograde", "validate", ""])
def test_nbgrader_reads_a_plain_float(where, monkeypatch):
    """It takes the points from what a cell shows, and elsewhere nothing is shown."""
    if where:
        monkeypatch.setenv("NBGRADER_EXECUTION", where)
    points = check(SCORES, scores, 3)
    assert repr(points) == "3.0"
    assert (type(points) is float) == bool(where)


def test_an_answer_is_found_in_a_namespace():
    assert grade(SCORES, {"attention_scores": scores, "scores": None}).score == 1.0
    assert grade(MODULE, {"MultiHeadAttention": Module}).score == 1.0
    assert "there is no `attention_scores`" in grade(SCORES, {"scores": scores}).message


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["def attention_scores(query, key):\n    return (1"], "a syntax error in line 2"),
        (["import math\nclass attention_scores:\nx = 1 +"], "a syntax error in line 3"),
        (["def attention_scores(query, key)\n    return 1", "x ="], "a syntax error in line 1"),
        (["def attention_scores(x", "def attention_scores(x): return x", "x ="], ""),
        (["def attention_scores_2(x", "attention_scores(x", 3], ""),
        (["def attention_scores(x):\n    return x\nawait x\nr'\\d', '\\d'"], ""),
        ("def attention_scores(x", ""),
    ],
)
def test_an_earlier_version_is_not_judged_in_place_of_one_with_a_syntax_error(cells, said):
    result = grade(SCORES, {"In": cells, "attention_scores": scores})
    assert result.score == (0.0 if said else 1.0)
    assert said in result.message
    assert ("still has the previous `attention_scores`" in result.message) == bool(said)


def test_check_gives_part_of_the_points(capsys):
    def no_two_axes(query, key):
        return torch.einsum("b...tk,b...sk->b...ts", query, key) / math.sqrt(query.shape[-1])

    result = grade(SCORES, no_two_axes)
    assert 0.5 < result.passed / result.total < 1.0
    assert (result.score, result.misconception) == (0.5, None)
    assert check(SCORES, no_two_axes, 2) == 1.0
    assert "einsum" in capsys.readouterr().out

    def only_two_axes(query, key):
        return torch.einsum("tk,sk->ts", query, key) / math.sqrt(query.shape[-1])

    result = grade(SCORES, only_two_axes)
    assert result.score == result.passed / result.total
    assert 0.0 < result.score < 0.5


@pytest.mark.parametrize("points", [-1, float("nan"), float("inf")])
def test_points_that_are_none(points):
    with pytest.raises(ValueError, match="points must be a number from 0 up"):
        check(SCORES, scores, points)


def test_a_named_mistake_gets_at_most_half():
    def ignores_the_mask(query, key, value, mask=None):
        return attend(query, key, value)

    result = grade(ATTENTION, ignores_the_mask)
    assert result.misconception == "mask-ignored"
    assert 0.0 < result.score <= 0.5
    mutates = grade(ATTENTION, lambda query, key, value, mask=None: attend(query, key, value, mask))
    assert mutates.score == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_to_mend_one_of_two_mistakes_costs_no_points(seed):
    """The mistake that is left has a name, the two together have none."""

    def both(query, key, value, mask=None):
        output, weights = attend(query, key, value)
        return output * (1.1 if query.dtype == torch.float64 else 1.0), weights

    def one(query, key, value, mask=None):
        return attend(query, key, value)

    first, second = grade(ATTENTION, both, seed), grade(ATTENTION, one, seed)
    assert (first.misconception, second.misconception) == (None, "mask-ignored")
    assert first.passed < second.passed
    assert first.score <= second.score <= 0.5


# --- legal forms -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        lambda q, k: scores(q, k),
        lambda key, query: scores(query, key),
        lambda *args, **kwargs: scores(*args, **kwargs),
        partial(lambda scale, query, key: scores(query, key) * scale, 1.0),
        scores,
    ],
    ids=["other names", "other order", "wrapper", "partial", "plain"],
)
def test_any_way_to_be_called(answer):
    assert grade(SCORES, answer).score == 1.0


def test_arguments_by_keyword_only():
    def keyword_only(*, query, key, value, mask=None):
        return attend(query, key, value, mask)

    def mask_by_keyword_only(q, k, v, *, mask=None):
        return attend(q, k, v, mask)

    assert grade(ATTENTION, keyword_only).score == 1.0
    assert grade(ATTENTION, mask_by_keyword_only).score == 1.0


def test_a_list_for_the_pair():
    assert grade(ATTENTION, lambda q, k, v, mask=None: list(attend(q, k, v, mask))).score == 1.0


def test_a_vmapped_answer():
    def one_sequence(x):
        return torch.vmap(lambda part: part * 1.0)(x)

    def answer(x, num_heads):
        return one_sequence(x).unflatten(-1, (num_heads, -1)).transpose(1, 2)

    assert grade(SPLIT, answer).score == 1.0


def test_a_class_may_have_more_than_the_stub():
    class More(Module):
        def __init__(self, d_model, num_heads, dropout=0.0, *, name="attention"):
            super().__init__(d_model, num_heads)
            self.register_buffer("scale", torch.ones(1))
            self.drop = torch.nn.Dropout(dropout)
            self.spare = torch.nn.Parameter(torch.ones(d_model))

        def forward(self, query, key, value, mask=None, need_weights=False):
            return self.drop(super().forward(query, key, value, mask)) * self.scale

    assert grade(MODULE, Module).score == 1.0
    assert grade(MODULE, More).score == 1.0
    assert grade(MODULE, lambda d_model, num_heads: More(d_model, num_heads)).score == 1.0


# --- what is told ----------------------------------------------------------------------------


def test_a_changed_argument_is_named():
    def changes(query, key, value, mask=None):
        value.add_(0.0).mul_(2.0)
        return attend(query, key, value / 2, mask)

    result = grade(ATTENTION, changes)
    assert result.score == 0.0
    assert "changes the caller's `value`" in result.message


def test_a_list_where_a_tensor_is_asked_is_told():
    message = grade(SCORES, lambda query, key: [query]).message
    assert "expected one tensor, received a list of 1" in message


def test_a_lost_dtype_is_told():
    result = grade(SPLIT, lambda x, n: x.float().unflatten(2, (n, -1)).transpose(1, 2))
    assert result.misconception == "float32-only"
    assert "expected dtype float64 as in the input, received float32" in result.message


def test_a_wrong_shape_is_told():
    message = grade(SPLIT, lambda x, n: x).message
    assert "expected shape (" in message
    assert "received (" in message


def test_detached_weights_are_told():
    def detached(query, key, value, mask=None):
        weights = attend(query, key, value, mask)[1].detach()
        return weights @ value, weights

    message = grade(ATTENTION, detached).message
    assert "no gradient reaches `query`, `key`" in message


def test_weights_may_be_detached_if_the_output_is_not():
    def answer(query, key, value, mask=None):
        output, weights = attend(query, key, value, mask)
        return output, weights.detach()

    assert grade(ATTENTION, answer).score == 1.0


def test_properties_explain_wrong_weights():
    def unnormalised(query, key, value, mask=None):
        weights = scores(query, key).exp()
        return weights @ value, weights

    assert "should sum to 1 over the keys" in grade(ATTENTION, unnormalised).message

    def leaks(query, key, value, mask=None):
        s = scores(query, key)
        weights = (s if mask is None else s.masked_fill(~mask, -4.0)).softmax(-1)
        return weights @ value, weights

    assert "a key that the mask hides (False) has weight" in grade(ATTENTION, leaks).message

    def unrelated(query, key, value, mask=None):
        output, weights = attend(query, key, value, mask)
        return output * 1.5, weights

    assert "not what the returned weights make" in grade(ATTENTION, unrelated).message


def test_a_leak_through_a_weak_fill_is_told():
    """A fill of -17 is within the tolerance of most cases; a loud value behind it is not."""

    class Leaks(Module):
        attend = staticmethod(lambda q, k, v, mask: _with_fill(q, k, v, mask, -17.0))

    result = grade(MODULE, Leaks)
    assert result.score < 1.0
    assert "hidden keys still have weight" in result.message


def _with_fill(query, key, value, mask, fill):
    s = scores(query, key)
    return (s if mask is None else s.masked_fill(~mask, fill)).softmax(-1) @ value


def test_randomness_is_told():
    class Random(Module):
        def forward(self, query, key, value, mask=None):
            return F.dropout(super().forward(query, key, value, mask), 0.1)

    assert grade(MODULE, Random).score == 0.0


def test_memory_from_call_to_call_is_told():
    calls = []

    def remembers(x, num_heads):
        calls.append(1)
        heads = x.unflatten(2, (num_heads, -1)).transpose(1, 2)
        return heads * (1.0 if len(calls) < 10 else 2.0)

    assert "remembered from call to call" in grade(SPLIT, remembers).message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda module: delattr(module, "v_proj"), "no layer `v_proj`"),
        (lambda module: setattr(module.k_proj, "bias", None), "`k_proj` has no bias"),
        (
            lambda module: setattr(module, "out_proj", torch.nn.Linear(2, 3)),
            "out_proj.weight has shape (3, 2), expected (",
        ),
    ],
)
def test_a_missing_name_or_bias_is_told(change, said):
    class Changed(Module):
        def __init__(self, d_model, num_heads):
            super().__init__(d_model, num_heads)
            change(self)

    result = grade(MODULE, Changed)
    assert result.score == 0.0
    assert said in result.message


def changes_one_kind(query, key):
    result = scores(query, key)
    if query.ndim == 2:
        query.data.add_(1.0)
    return result


def changes_one_kind_and_is_wrong_in_another(query, key):
    return changes_one_kind(query, key) + (query.ndim != 2)


def detaches_one_kind_and_is_wrong_in_another(query, key):
    result = scores(query, key)
    return result.detach() if query.ndim == 2 else result + 1


def test_a_result_is_called_right_only_if_it_is_so_in_all_cases():
    right = grade(SCORES, changes_one_kind)
    assert "  the result is right, but the call changes the caller's `query`" in right.message
    for seed in range(3):
        wrong = grade(SCORES, changes_one_kind_and_is_wrong_in_another, seed)
        assert "changes the caller's `query`" in wrong.message
        assert "right" not in wrong.message
        assert "right" not in grade(SCORES, detaches_one_kind_and_is_wrong_in_another, seed).message


def test_an_answer_that_is_not_there_is_asked_for_by_its_name():
    for task, name in ((SCORES, "attention_scores"), (MODULE, "MultiHeadAttention")):
        result = grade(task, None)
        assert (result.score, result.misconception) == (0.0, None)
        assert f"there is no `{name}`" in result.message
        assert "run the cell" in result.message


def test_a_name_that_is_not_defined_is_told():
    def answer(query, key):
        return query @ keys.mT  # noqa: F821

    result = grade(SCORES, answer)
    assert result.misconception == "undefined-name"
    assert "`keys` is not defined" in result.message
    assert "None of the cells you ran defines it" in result.message
    assert "attention_scores(query, key)" in result.message
    assert grade(SCORES, raises_unbound).misconception != "undefined-name"


def raises_unbound(query, key):
    for _ in range(query.ndim - 2):
        result = scores(query, key)
    return result


batch = torch.tensor([[3, 4, 0], [5, 0, 0]])


def with_global(ids, pad_id):
    return (batch != pad_id)[:, None, None, :]


class WithGlobal(Module):
    def forward(self, query, key, value, mask=None):
        return self.out_proj(self.v_proj(batch * query.sum() * key.sum()))


def with_constant(query, key):
    return query @ FACTOR.mT


FACTOR = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("task", "answer", "key", "said"),
    [
        ("masking.padding_mask", with_global, "name-of-the-notebook", "argument `ids` is never"),
        (MODULE, WithGlobal, "name-of-the-notebook", "`batch` is a variable of the notebook"),
        (SCORES, lambda q, k: (q @ k.mT).sum().item(), "number-for-a-tensor", "a float is"),
        (SPLIT, lambda x, n: len(x), "number-for-a-tensor", "an int is"),
        (SCORES, lambda q, k: float(q @ k.mT), "one-number-of-many", ".item()"),
        (SCORES, lambda q, k: torch.tensor(scores(q, k).numpy()), "numpy", "Can't call numpy()"),
        (SCORES, lambda q, k: scores(q, k).detach().numpy(), "numpy", "received a ndarray"),
        (SCORES, lambda q, k: scores(q, k).detach(), "detached", "no gradient"),
        (
            SPLIT,
            lambda x, n: x.data.unflatten(2, (n, -1)).transpose(1, 2),
            "detached",
            "no gradient",
        ),
        (
            "masking.padding_mask",
            lambda ids, pad_id: not (ids == pad_id),  # noqa: SIM201
            "whole-tensor-as-condition",
            "& for and, | for or, ~ for not",
        ),
        (
            "masking.target_mask",
            lambda ids, pad_id: (ids != pad_id)[:, None, None] and torch.ones(3, 3).tril().bool(),
            "whole-tensor-as-condition",
            "& for and, | for or, ~ for not",
        ),
    ],
)
def test_a_mistake_of_any_task_has_a_name(task, answer, key, said):
    result = grade(task, answer)
    assert result.misconception == key, result.message
    assert said in result.message
    assert result.score <= 0.5


def test_a_result_on_another_device_has_a_name():
    """The device "meta" stands for the one that is not there."""

    def on_the_processor(length, device=None):
        return torch.ones(1, 1, length, length, dtype=torch.bool).tril()

    task = find_task("masking.causal_mask")
    exam = Exam(replace(task, load_misconceptions=tuple), list(make_exam(task.key, 0).cases))
    outcomes = [run_case(exam.task, on_the_processor, case) for case in exam.cases]
    result = judge(exam, outcomes, "done", 10.0)
    assert result.misconception == "other-device"
    assert "expected it on meta, received it on cpu" in result.message


def test_what_is_right_is_no_mistake():
    """A constant of the notebook may be used, and a right answer has no mistake at all."""
    assert grade(SCORES, with_constant).misconception != "name-of-the-notebook"

    def scaled(query, key):
        return query @ key.mT * half / query.shape[-1] ** 0.5

    assert grade(SCORES, scaled).score == 1.0


half = 1.0

# --- what may not be called ------------------------------------------------------------------


def fused(query, key, value, mask=None):
    return renamed(query, key, value, attn_mask=mask), attend(query, key, value, mask)[1]


def fused_from_torch_ops(query, key, value, mask=None):
    output = torch.ops.aten.scaled_dot_product_attention(query, key, value, mask)
    return output, attend(query, key, value, mask)[1]


def fused_and_caught(query, key, value, mask=None):
    with contextlib.suppress(BaseException):
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return attend(query, key, value, mask)


def fused_of_the_reference(query, key, value, mask=None):
    return reference.fused_attention(query, key, value, mask), None


def fused_behind_the_function_mode(query, key, value, mask=None):
    with torch._C.DisableTorchFunction():
        F.scaled_dot_product_attention(query, key, value[..., :1].expand_as(key).contiguous())
    return attend(query, key, value, mask)


@pytest.mark.parametrize(
    "answer",
    [
        fused,
        fused_from_torch_ops,
        fused_and_caught,
        fused_of_the_reference,
        fused_behind_the_function_mode,
    ],
)
def test_the_fused_function_is_refused(answer):
    result = grade(ATTENTION, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert "It calls torch.nn.functional.scaled_dot_product_attention" in result.message


class Wraps(Module):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.inner = torch.nn.MultiheadAttention(d_model, num_heads, batch_first=True)


class CallsFused(Module):
    def forward(self, query, key, value, mask=None):
        return F.scaled_dot_product_attention(query, key, value) * 0 + super().forward(
            query, key, value, mask
        )


class CallsFunctional(Module):
    def forward(self, query, key, value, mask=None):
        F.multi_head_attention_forward(query, key, value)
        return super().forward(query, key, value, mask)


class Inherits(reference.MultiHeadAttention):
    pass


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (Wraps, "torch.nn.MultiheadAttention"),
        (CallsFused, "torch.nn.functional.scaled_dot_product_attention"),
        (CallsFunctional, "torch.nn.functional.multi_head_attention_forward"),
        (Inherits, "transformer_ref.attention.MultiHeadAttention"),
        (reference.MultiHeadAttention, "transformer_ref.attention.MultiHeadAttention"),
        (
            lambda d_model, num_heads: torch.nn.TransformerEncoderLayer(d_model, num_heads),
            "torch.nn.TransformerEncoderLayer",
        ),
    ],
)
def test_modules_that_are_the_task_are_refused(answer, name):
    result = grade(MODULE, answer)
    assert result.score == 0.0
    assert f"It calls {name}, " in result.message


def test_a_mention_is_not_a_call():
    def mentions(query, key, value, mask=None):
        _ = (
            F.scaled_dot_product_attention,
            torch.nn.MultiheadAttention,
            reference.attention_scores,
        )
        return attend(query, key, value, mask)

    assert grade(ATTENTION, mentions).score == 1.0


def test_pieces_of_other_tasks_may_be_used():
    class WithPieces(Module):
        def forward(self, query, key, value, mask=None):
            pairs = ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
            heads = [reference.split_heads(layer(x), self.num_heads) for layer, x in pairs]
            output, _ = reference.scaled_dot_product_attention(*heads, mask)
            return self.out_proj(output.transpose(1, 2).flatten(2))

    assert grade(MODULE, WithPieces).score == 1.0


def test_the_caller_may_still_call_everything_afterwards():
    grade(ATTENTION, fused)
    x = torch.ones(1, 2, 3)
    assert reference.attention_scores(x, x).shape == (1, 2, 2)
    assert F.scaled_dot_product_attention(x, x, x).shape == x.shape


# --- what a student prints is not taken for a result -----------------------------------------

FAKED = f"{SCORES}: all 12 cases pass.\nPoints: 1 of 1"


def prints_success(query, key):
    print(f"wrong\n{FAKED}\r\x1b[2K\u2028{FAKED}\u202eevif")
    return query


def raises_success(query, key):
    raise ValueError(f"\u202e{FAKED}\x1b[2K")


def lies_in_a_name(query, key):
    return type(f"list\n{FAKED}\u2066", (), {})()


class ElsewhereLies(AnswerElsewhere):
    """A process in the sandbox that answers with whatever it likes."""

    def __init__(self, problem="", frames=(), how="done"):
        self.said, self.ended = problem, Ended(list(frames), how)

    def problem(self, task):
        return self.said

    def run(self, task, cases, number, seconds):
        return self.ended


@pytest.mark.parametrize(
    "answer",
    [
        prints_success,
        raises_success,
        lies_in_a_name,
        ElsewhereLies(problem=f"x\n{FAKED}\u202e"),
        ElsewhereLies(how=f"x\n{FAKED}\u202e"),
        ElsewhereLies(
            frames=[wire_format.encode(Outcome(forbidden=f"x\n{FAKED}\u202e").as_plain())]
        ),
    ],
)
def test_no_line_of_a_message_is_the_students_own(answer):
    """Every line that a student can choose begins with our words, and holds no hidden character."""
    message = grade(SCORES, answer).message
    assert all(line.isprintable() for line in message.split("\n")), repr(message)
    begins = tuple(FAKED.splitlines())
    assert not [line for line in message.split("\n") if line.strip().startswith(begins)]


def test_each_printed_line_is_marked_as_printed():
    lines = grade(SCORES, prints_success).message.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("  Your code printed: wrong"))
    assert lines[first + 1] == f"            printed: {FAKED.splitlines()[0]}"
    assert all(line.lstrip().startswith("printed: ") for line in lines[first + 1 :])
    assert r"Points: 1 of 1\r\x1b[2K\u2028attention" in lines[first + 2]
    assert lines[-1].endswith(r"\u202eevif")
