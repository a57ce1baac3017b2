"""What must hold for any sizes and any input: order, padding, future, batch."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.package.examples import PAD, small_model
from transformer_ref import EncoderLayer, MultiHeadAttention, Transformer

FEW = settings(max_examples=12, deadline=None, database=None, derandomize=True)
SEEDS = st.integers(0, 2**31 - 1)
LENGTHS = st.integers(2, 9)
NORMS = st.sampled_from(["post", "pre"])
POSITIONS = st.sampled_from(["sinusoidal", "learned"])


def model_and_batch(
    seed: int, length: int, norm: str, positions: str
) -> tuple[Transformer, torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    model = small_model(norm=norm, positions=positions).double()
    src = torch.randint(1, 23, (3, length + 1))
    tgt = torch.randint(1, 19, (3, length))
    return model, src, tgt


def assert_equal(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS)
def test_without_positions_order_does_not_matter(seed: int, length: int, norm: str) -> None:
    torch.manual_seed(seed)
    layer = EncoderLayer(12, 3, 20, norm=norm).double()
    x = torch.randn(2, length, 12, dtype=torch.float64)
    order = torch.randperm(length)
    assert_equal(layer(x[:, order]), layer(x)[:, order])


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS)
def test_with_positions_order_matters(seed: int, length: int, norm: str, positions: str) -> None:
    model, src, _ = model_and_batch(seed, length, norm, positions)
    src[:, 0], src[:, 1] = 1, 2
    order = torch.arange(length + 1)
    order[:2] = torch.tensor([1, 0])
    assert not torch.allclose(
        model.encode(src[:, order]), model.encode(src)[:, order], rtol=1e-6, atol=1e-6
    )


@FEW
@given(seed=SEEDS, keys=LENGTHS)
def test_attention_does_not_depend_on_the_order_of_the_keys(seed: int, keys: int) -> None:
    torch.manual_seed(seed)
    attention = MultiHeadAttention(12, 3).double()
    query = torch.randn(2, 4, 12, dtype=torch.float64)
    memory = torch.randn(2, keys, 12, dtype=torch.float64)
    mask = torch.rand(2, 1, 4, keys) < 0.6
    order = torch.randperm(keys)
    shuffled = memory[:, order]
    assert_equal(
        attention(query, shuffled, shuffled, mask[..., order]),
        attention(query, memory, memory, mask),
    )


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS, extra=st.integers(1, 5))
def test_more_padding_changes_nothing(
    seed: int, length: int, norm: str, positions: str, extra: int
) -> None:
    model, src, tgt = model_and_batch(seed, length, norm, positions)
    padding = torch.full((3, extra), PAD)
    longer = model(torch.cat((src, padding), dim=1), torch.cat((tgt, padding), dim=1))
    assert_equal(longer[:, :length], model(src, tgt))


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS, data=st.data())
def test_no_position_sees_a_later_token(
    seed: int, length: int, norm: str, positions: str, data: st.DataObject
) -> None:
    model, src, tgt = model_and_batch(seed, length, norm, positions)
    changed_at = data.draw(st.integers(1, length - 1))
    other = tgt.clone()
    other[:, changed_at:] = tgt[:, changed_at:] % 18 + 1
    before, after = model(src, tgt), model(src, other)
    assert_equal(after[:, :changed_at], before[:, :changed_at])
    assert not torch.allclose(after[:, changed_at], before[:, changed_at], atol=1e-6)


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS)
def test_a_row_does_not_depend_on_the_rest_of_the_batch(
    seed: int, length: int, norm: str, positions: str
) -> None:
    model, src, tgt = model_and_batch(seed, length, norm, positions)
    src[1, -1] = tgt[2, -1] = PAD
    together = model(src, tgt)
    for row in range(3):
        assert_equal(model(src[row : row + 1], tgt[row : row + 1]), together[row : row + 1])


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS)
def test_every_source_token_can_reach_every_target_position(
    seed: int, length: int, norm: str, positions: str
) -> None:
    model, src, tgt = model_and_batch(seed, length, norm, positions)
    memory = model.encode(src).detach().requires_grad_()
    for position in (0, length - 1):
        (gradient,) = torch.autograd.grad(
            model.decode(tgt, memory)[:, position].square().sum(), memory
        )
        assert torch.all(gradient.abs().sum(dim=-1) > 0)
