"""Attention: the written-out path, the fused one, and the recording of weights."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from tests.package.examples import (
    BATCH,
    D_MODEL,
    HEAD_SIZE,
    HEADS,
    MASKS,
    SOURCE,
    TARGET,
    TOLERANCES,
    make_mask,
    projection,
    small_batch,
    small_model,
)
from transformer_ref import (
    MultiHeadAttention,
    attention_scores,
    causal_mask,
    fused_attention,
    masked_softmax,
    merge_heads,
    record_attention,
    scaled_dot_product_attention,
    split_heads,
)
from transformer_ref.masks import PreparedMask

# Half precision holds about 3 (float16) or 2 (bfloat16) decimal digits.
ALL_TOLERANCES = {**TOLERANCES, torch.float16: 5e-3, torch.bfloat16: 4e-2}
EVERY_DTYPE = pytest.mark.parametrize("dtype", ALL_TOLERANCES, ids=lambda dtype: str(dtype)[6:])
PATHS = ("explicit", "fused")


def heads_of(device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    """Query (B, H, T, K), key and value (B, H, S, K), leaves that need gradients."""
    return [
        torch.randn(BATCH, HEADS, n, HEAD_SIZE, device=device).to(dtype).requires_grad_()
        for n in (TARGET, SOURCE, SOURCE)
    ]


def attend(path: str, tensors: list[Tensor], mask: Tensor | None) -> Tensor:
    if path == "fused":
        return fused_attention(*tensors, mask)
    return scaled_dot_product_attention(*tensors, mask)[0]


def run(path: str, tensors: list[Tensor], mask: Tensor | None) -> list[Tensor]:
    """Output and gradients of one path, from fresh leaves."""
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    output = attend(path, leaves, mask)
    torch.manual_seed(1)
    # Not randn_like, which draws in the order of the memory: a fused kernel may have its own.
    (output * torch.randn(output.shape).to(output)).sum().backward()
    return [output.detach(), *(leaf.grad for leaf in leaves)]


@EVERY_DTYPE
@pytest.mark.parametrize("kind", [*MASKS, "empty_rows"])
def test_both_paths_agree(device: torch.device, dtype: torch.dtype, kind: str) -> None:
    tensors = heads_of(device, dtype)
    mask = make_mask("per_head" if kind == "empty_rows" else kind, TARGET, SOURCE, device)
    if kind == "empty_rows":
        mask[0, 1, 2] = mask[1, :, -1] = False
    tolerance = ALL_TOLERANCES[dtype]
    for explicit, fused in zip(*(run(path, tensors, mask) for path in PATHS), strict=True):
        assert explicit.dtype == fused.dtype == dtype
        torch.testing.assert_close(explicit, fused, rtol=tolerance, atol=tolerance)


@EVERY_DTYPE
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_a_row_that_may_see_nothing_is_zero_in_value_and_gradient(
    device: torch.device, dtype: torch.dtype, path: str, scale: float
) -> None:
    tensors = [(x.detach() * scale).requires_grad_() for x in heads_of(device, dtype)]
    mask = torch.ones(BATCH, 1, TARGET, SOURCE, dtype=torch.bool, device=device)
    mask[0] = mask[1, :, 2] = False
    output = attend(path, tensors, mask)
    output.sum().backward()
    assert torch.all(output[0] == 0)
    assert torch.all(output[1, :, 2] == 0)
    assert torch.all(output[1, :, 0] != 0)
    for x in tensors:
        assert torch.isfinite(x.grad).all()
        assert torch.all(x.grad[0] == 0)
    assert torch.all(tensors[0].grad[1, :, 2] == 0)


def test_no_kernel_ever_gets_a_row_that_may_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels differ on such a row; those of this machine may happen to give zeros."""
    kernel, masks = F.scaled_dot_product_attention, []

    def watched(*args: Tensor, attn_mask: Tensor, **options: object) -> Tensor:
        masks.append(attn_mask)
        return kernel(*args, attn_mask=attn_mask, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    mask = torch.ones(BATCH, 1, TARGET, SOURCE, dtype=torch.bool)
    mask[0, 0, 2] = False
    fused_attention(*heads_of(torch.device("cpu"), torch.float32), mask)
    assert torch.all(masks[0].any(dim=-1))
    assert torch.equal(masks[0][1], mask[1])


@EVERY_DTYPE
def test_weights_sum_to_one_or_to_zero(device: torch.device, dtype: torch.dtype) -> None:
    query, key, value = heads_of(device, dtype)
    mask = make_mask("per_head", TARGET, SOURCE, device)
    mask[0, 1, 2] = False
    _, weights = scaled_dot_product_attention(query, key, value, mask)
    expected = torch.ones(BATCH, HEADS, TARGET, dtype=torch.float64, device=device)
    expected[0, 1, 2] = 0
    tolerance = ALL_TOLERANCES[dtype]
    torch.testing.assert_close(weights.double().sum(-1), expected, rtol=tolerance, atol=tolerance)
    assert torch.all(weights[~mask] == 0)
    assert weights.dtype == dtype


def test_scores_are_scaled_dot_products(device: torch.device) -> None:
    query = torch.tensor([[1.0, 2.0, 3.0, 4.0]], device=device)
    key = torch.tensor([[1.0, 0.0, 0.0, 1.0], [0.0, -2.0, 0.0, 0.0]], device=device)
    expected = torch.tensor([[5.0, -4.0]], device=device) / 2.0
    torch.testing.assert_close(attention_scores(query, key), expected)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_any_number_of_leading_axes(device: torch.device, leading: tuple[int, ...]) -> None:
    query = torch.randn(*leading, 5, 6, device=device)
    key, value = (torch.randn(*leading, 7, size, device=device) for size in (6, 3))
    output, weights = scaled_dot_product_attention(query, key, value)
    expected = torch.softmax(query @ key.mT / math.sqrt(6), dim=-1)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(output, expected @ value)


@pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
def test_is_causal_equals_the_causal_mask(device: torch.device, need_weights: bool) -> None:
    attention = MultiHeadAttention(D_MODEL, HEADS).to(device, torch.float64)
    x = torch.randn(BATCH, SOURCE, D_MODEL, dtype=torch.float64, device=device)
    mask = causal_mask(SOURCE, device)
    flagged = attention(x, x, x, is_causal=True, need_weights=need_weights)
    masked = attention(x, x, x, mask, need_weights=need_weights)
    torch.testing.assert_close(flagged, masked, rtol=1e-10, atol=1e-10)
    assert not torch.allclose(attention(x, x, x), masked[0] if need_weights else masked)


def test_heads_are_slices_of_the_features(device: torch.device) -> None:
    x = torch.arange(2 * 3 * 6, device=device).view(2, 3, 6)
    heads = split_heads(x, 2)
    assert heads.shape == (2, 2, 3, 3)
    assert torch.equal(heads[:, 1], x[..., 3:])
    assert torch.equal(merge_heads(heads), x)


class TestDropout:
    """Dropout of the attention weights."""

    def test_returned_weights_are_those_before_dropout(self, device: torch.device) -> None:
        attention = MultiHeadAttention(D_MODEL, HEADS, dropout=0.5).to(device)
        x = torch.randn(BATCH, SOURCE, D_MODEL, device=device)
        output, weights = attention.train()(x, x, x, need_weights=True)
        expected_output, expected = attention.eval()(x, x, x, need_weights=True)
        torch.testing.assert_close(weights, expected)
        assert not torch.allclose(output, expected_output)

    @pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "explicit"])
    def test_acts_in_training_only(self, device: torch.device, need_weights: bool) -> None:
        attention = MultiHeadAttention(D_MODEL, HEADS, dropout=0.5).to(device)
        x = torch.randn(BATCH, SOURCE, D_MODEL, device=device)

        def output() -> Tensor:
            result = attention(x, x, x, need_weights=need_weights)
            return result[0] if need_weights else result

        attention.train()
        assert not torch.equal(output(), output())
        attention.eval()
        assert torch.equal(output(), output())

    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("path", PATHS)
    def test_keeps_the_expected_output(self, device: torch.device, path: str, masked: bool) -> None:
        """With equal scores the output is the mean of the values, whatever is dropped."""
        source = 20_000
        query = torch.zeros(1, 1, 1, 4, device=device)
        key, value = (fill(1, 1, source, 4, device=device) for fill in (torch.zeros, torch.ones))
        mask = torch.ones(1, source, dtype=torch.bool, device=device) if masked else None
        function = fused_attention if path == "fused" else scaled_dot_product_attention
        output = function(query, key, value, mask, dropout_p=0.3)
        mean = (output if path == "fused" else output[0]).mean().item()
        assert mean == pytest.approx(1.0, abs=0.03)
        assert abs(mean - 1.0) > 1e-5


class TestRecordAttention:
    """record_attention."""

    def test_changes_no_result_and_leaves_nothing_behind(self, device: torch.device) -> None:
        model = small_model(device).double()
        src, tgt = small_batch(device, model.config)
        expected = model(src, tgt)
        with record_attention(model) as recorded:
            torch.testing.assert_close(model(src, tgt), expected, rtol=1e-10, atol=1e-10)
        assert len(recorded) == 2 + 2 * 3
        recorded.clear()
        assert torch.equal(model(src, tgt), expected)
        assert not recorded

    def test_keeps_the_weights_of_each_module_by_name(self, device: torch.device) -> None:
        model = small_model(device)
        src, tgt = small_batch(device, model.config)
        with record_attention(model) as recorded:
            model(src, tgt)
        cross = recorded["decoder.layers.2.cross_attention"]
        own = recorded["decoder.layers.0.self_attention"]
        assert cross.shape == (BATCH, HEADS, TARGET, SOURCE)
        assert own.shape == (BATCH, HEADS, TARGET, TARGET)
        for weights in recorded.values():
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
            assert not weights.requires_grad
        assert torch.all(own.triu(1) == 0)
        assert torch.all(cross[-1, ..., -2:] == 0)

    def test_ends_even_when_the_model_fails(self) -> None:
        model = small_model()
        with pytest.raises(ValueError, match="src"), record_attention(model) as recorded:
            model(torch.tensor([[99]]), torch.tensor([[1]]))
        model(torch.tensor([[9]]), torch.tensor([[1]]))
        assert not recorded

    def test_an_inner_block_leaves_the_outer_one_recording(self, device: torch.device) -> None:
        model = small_model(device)
        src, tgt = small_batch(device, model.config)
        with record_attention(model) as outer:
            with record_attention(model.encoder) as inner:
                model(src, tgt)
            assert set(inner) == {f"layers.{i}.self_attention" for i in range(2)}
            model(src, tgt)
        assert len(outer) == 2 + 2 * 3

    @pytest.mark.parametrize("positional", [False, True])
    def test_a_caller_that_wants_weights_still_gets_them(
        self, device: torch.device, positional: bool
    ) -> None:
        attention = MultiHeadAttention(D_MODEL, HEADS).to(device)
        x = torch.randn(BATCH, SOURCE, D_MODEL, device=device)
        with record_attention(attention) as recorded:
            if positional:
                _, weights = attention(x, x, x, None, True)
            else:
                _, weights = attention(x, x, x, need_weights=True)
            assert isinstance(attention(x, x, x), Tensor)
        assert torch.equal(recorded[""], weights)


def test_softmax_is_over_the_allowed_keys(device: torch.device) -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0]], device=device)
    mask = torch.tensor([[True, False, True]], device=device)
    kept = F.softmax(torch.tensor([1.0, 3.0]), dim=0)
    expected = torch.tensor([[kept[0], 0.0, kept[1]]], device=device)
    torch.testing.assert_close(masked_softmax(scores, mask), expected)


def test_blocked_keys_take_no_share_however_low_the_allowed_scores(device: torch.device) -> None:
    scores = torch.tensor([[-1000.0, -1000.0, 5.0]], device=device)
    mask = torch.tensor([[True, True, False]], device=device)
    expected = torch.tensor([[0.5, 0.5, 0.0]], device=device)
    torch.testing.assert_close(masked_softmax(scores, mask), expected)


def test_projections_start_as_xavier_without_bias() -> None:
    for name, parameter in MultiHeadAttention(256, 8).named_parameters():
        if name.endswith("bias"):
            assert torch.all(parameter == 0), name
        else:
            assert parameter.std().item() == pytest.approx(1 / math.sqrt(256), rel=0.02), name


def test_scores_are_not_changed(device: torch.device) -> None:
    scores = torch.randn(3, 4, device=device)
    before = scores.clone()
    masked_softmax(scores, torch.rand(3, 4, device=device) > 0.5)
    assert torch.equal(scores, before)


def test_gradient_reaches_every_projection(device: torch.device) -> None:
    attention = MultiHeadAttention(D_MODEL, HEADS).to(device)
    x = torch.randn(BATCH, SOURCE, D_MODEL, device=device)
    weights = projection(BATCH, SOURCE, D_MODEL, dtype=x.dtype, device=device)
    (attention(x, x, x) * weights).sum().backward()
    for name, parameter in attention.named_parameters():
        # A bias of the keys moves all scores of a query alike, which softmax does not see.
        assert name == "k_proj.bias" or parameter.grad.abs().max() > 1e-3, name


@pytest.mark.parametrize("dropout_p", [0.1, 0.9])
def test_as_many_weights_are_dropped_as_the_rate_says(
    device: torch.device, dropout_p: float
) -> None:
    query, key = torch.randn(2, 40, 100, 8, device=device)
    output, _ = scaled_dot_product_attention(
        query, key, torch.eye(100, device=device), dropout_p=dropout_p
    )
    assert (output == 0).float().mean().item() == pytest.approx(dropout_p, abs=0.005)


@pytest.mark.parametrize("need_weights", [True, False])
def test_is_causal_and_a_mask_exclude_each_other(need_weights: bool) -> None:
    x, mask = torch.randn(1, 4, 6), causal_mask(4)
    with pytest.raises(ValueError, match=r"needs T == S and mask=None, got T=4, S=4, mask=\(1, 1"):
        MultiHeadAttention(6, 2)(x, x, x, mask, need_weights=need_weights, is_causal=True)
    prepared = PreparedMask.of(mask)
    with pytest.raises(ValueError, match=r"mask=\(1, 1, 4, 4\)"):
        MultiHeadAttention(6, 2)(x, x, x, prepared, need_weights=need_weights, is_causal=True)
