"""The models inside torch's world: transforms, tracing, hooks, adapters, waits for a GPU."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.marks import weekly
from tests.package.examples import PAD, small_batch, small_config, small_model
from transformer_ref import GPT, GPTConfig, Transformer
from transformer_ref import decoding as decoding_module
from transformer_ref import model as model_module
from transformer_ref.cache import KVCache
from transformer_ref.decoding import beam_search, evaluation_mode, greedy_decode, sample
from transformer_ref.gpt import generate
from transformer_ref.masks import padding_mask, target_mask
from transformer_ref.positions import SinusoidalPositions, sinusoidal_encoding

BOS, EOS = 1, 2
GPT_CONFIG = GPTConfig(19, 12, 3, 2, 20, max_len=24, dropout=0.0)


def small_gpt(**changes: Any) -> GPT:
    return GPT(GPTConfig(**(vars(GPT_CONFIG) | changes))).eval()


def searches(model: Transformer, src: Tensor) -> list[Tensor]:
    prompts = src[:, :3].clamp(max=18)
    return [
        greedy_decode(model, src, BOS, EOS, 6),
        sample(model, src, BOS, EOS, 6),
        *beam_search(model, src, BOS, EOS, 3, 6),
        generate(small_gpt(), prompts, 4),
    ]


# --- decoding -----------------------------------------------------------------------------------


def test_ids_that_were_decoded_are_ordinary_tensors() -> None:
    model = small_model().train()
    src, _ = small_batch("cpu", model.config)
    found = searches(model, src)
    assert not any(ids.is_inference() for ids in found)
    model(src, found[0]).sum().backward()  # as in training on the model's own answers
    small_gpt()(found[-1]).sum().backward()


def test_each_submodule_gets_its_own_mode_back() -> None:
    model = small_model().train()
    model.encoder.eval()  # frozen, say
    before = [module.training for module in model.modules()]
    with evaluation_mode(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == before
    assert len(set(before)) == 2


# --- the cache ----------------------------------------------------------------------------------


def test_no_gradient_goes_through_the_cache() -> None:
    model, gpt = small_model().train(), small_gpt().train()
    src, tgt = small_batch("cpu", model.config)
    cache, own = KVCache(model.config.num_decoder_layers), KVCache(GPT_CONFIG.num_layers)
    memory = model.encode(src)
    for step in range(2):
        model.decode(tgt[:, step : step + 1], memory, cache=cache)
        gpt(tgt[:, step : step + 1], own)
    for layer in (*cache.layers, *own.layers):
        kept = [*layer.self_attention._room, *(layer.cross_attention.stored or ())]
        assert kept
        assert not any(keys.requires_grad for keys in kept)


@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize("layer", [0, 2])
def test_a_call_that_fails_leaves_the_cache_as_it_was(start: int, layer: int) -> None:
    model = small_model().double()
    src, tgt = small_batch("cpu", model.config)
    tgt, memory, cache = tgt.clamp(min=3), model.encode(src), KVCache(3)
    expected = model.decode(tgt, memory)[:, start:]
    if start:
        model.decode(tgt[:, :start], memory, cache=cache)

    def refuse(*_: Any) -> None:
        raise ZeroDivisionError

    wrong_mask = torch.ones(9, 9, dtype=torch.bool)
    with pytest.raises(ValueError, match="tgt_mask"):
        model.decode(tgt[:, start : start + 2], memory, wrong_mask, cache=cache)
    hook = model.decoder.layers[layer].feed_forward.register_forward_hook(refuse)
    with pytest.raises(ZeroDivisionError):  # and this one with another memory
        model.decode(tgt[:, start : start + 1], 2 * memory, cache=cache)
    hook.remove()
    assert cache.length == start
    actual = model.decode(tgt[:, start:], memory, cache=cache)
    torch.testing.assert_close(actual, expected)


def test_a_refused_first_call_of_gpt_does_not_fix_the_size_of_the_batch() -> None:
    model, cache = small_gpt(), KVCache(2)
    hook = model.layers[1].register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model(torch.full((4, 2), 3), cache)
    hook.remove()
    torch.testing.assert_close(model(torch.full((1, 2), 3), cache), model(torch.full((1, 2), 3)))


# --- transforms, tracing, adapters --------------------------------------------------------------

TIES = pytest.mark.parametrize("tie_weights", ["none", "target", "all"])


def tied_model(tie_weights: str, **changes: Any) -> Transformer:
    return small_model(src_vocab_size=19, tie_weights=tie_weights, **changes).double()


def loss_of(model: nn.Module, parameters: dict[str, Tensor], src: Tensor, tgt: Tensor) -> Tensor:
    logits = functional_call(model, parameters, (src, tgt))
    return F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)


@TIES
def test_functional_call_leaves_the_model_as_it_was(tie_weights: str) -> None:
    model = tied_model(tie_weights)
    batch = small_batch("cpu", model.config)
    before = copy.deepcopy(model)
    zeros = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    assert functional_call(model, zeros, batch).abs().sum() == 0
    for name, parameter in model.named_parameters():
        assert isinstance(parameter, nn.Parameter)
        assert torch.equal(parameter, before.get_parameter(name)), name
    assert torch.equal(model(*batch), before(*batch))


# On the CPU, torch warns that vmap has no rule for its fused attention and takes row by row.
ROW_BY_ROW = pytest.mark.filterwarnings("ignore:There is a performance drop")


@ROW_BY_ROW
@TIES
def test_gradients_of_each_example_at_once(tie_weights: str) -> None:
    model = tied_model(tie_weights)
    src, tgt = small_batch("cpu", model.config)
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def one(parameters: dict[str, Tensor], src: Tensor, tgt: Tensor) -> Tensor:
        return loss_of(model, parameters, src[None], tgt[None])

    found = vmap(grad(one), in_dims=(None, 0, 0))(parameters, src, tgt)
    for row in range(len(src)):
        model.zero_grad()
        loss_of(model, dict(model.named_parameters()), src[row, None], tgt[row, None]).backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(found[name][row], parameter.grad)


def test_gradients_of_each_text_of_gpt_at_once() -> None:
    model = small_gpt().double()
    ids = torch.randint(0, 19, (3, 5))
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def one(parameters: dict[str, Tensor], ids: Tensor) -> Tensor:
        return functional_call(model, parameters, (ids[None],)).logsumexp(-1).sum()

    with sdpa_kernel(SDPBackend.MATH):  # for which vmap has a rule
        found = vmap(grad(one), in_dims=(None, 0))(parameters, ids)
    model(ids[:1]).logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name][0], parameter.grad)


@TIES
def test_shapes_without_data(tie_weights: str) -> None:
    with FakeTensorMode():
        model = Transformer(small_config(src_vocab_size=19, tie_weights=tie_weights))
        logits = model(*small_batch("cpu", model.config))
        logits.sum().backward()
        assert logits.shape == (2, 5, 19)
        ids = torch.ones(2, 5, dtype=torch.int64)
        assert small_gpt()(ids, KVCache(2)).shape == (2, 5, 19)


@pytest.mark.parametrize(
    ("strict", "positions"),
    [
        *weekly((True, "sinusoidal"), (False, "sinusoidal")),
        (False, "learned"),
    ],
)
def test_export_with_dynamic_batch_and_lengths(strict: bool, positions: str) -> None:
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    model = small_model(positions=positions, **layers).double()
    src, tgt = small_batch("cpu", model.config)
    batch = torch.export.Dim("batch", max=64)
    source, target = (torch.export.Dim(name, max=16) for name in ("source", "target"))
    shapes = {"src": {0: batch, 1: source}, "tgt_in": {0: batch, 1: target}}
    exported = torch.export.export(model, (src, tgt), dynamic_shapes=shapes, strict=strict)
    for rows, s, t in ((2, 7, 5), (3, 4, 9), (7, 16, 2)):
        src = torch.randint(0, 23, (rows, s))  # padding anywhere
        tgt = torch.randint(0, 19, (rows, t))
        real = tgt != PAD
        torch.testing.assert_close(exported.module()(src, tgt)[real], model(src, tgt)[real])


def test_export_of_gpt() -> None:
    model = small_gpt()
    shapes = {"ids": {0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("length", max=24)}}
    ids = torch.randint(0, 19, (2, 5))
    exported = torch.export.export(model, (ids,), dynamic_shapes=shapes)
    for rows, length in ((3, 24), (5, 2)):
        ids = torch.randint(0, 19, (rows, length))
        torch.testing.assert_close(exported.module()(ids), model(ids))


class Adapter(nn.Module):
    """A linear layer with a low-rank term beside it, as LoRA has."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear
        self.down = nn.Linear(linear.in_features, 2, bias=False)
        self.up = nn.Linear(2, linear.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) + self.up(self.down(x))


@pytest.mark.parametrize("make", [small_model, small_gpt])
def test_hooks_and_adapters_of_every_linear_layer_are_seen(make: Callable[[], nn.Module]) -> None:
    model = make()
    batch = small_batch("cpu", small_config())
    inputs = batch if isinstance(model, Transformer) else batch[1:]
    seen: list[str] = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            module.register_forward_hook(lambda *_, name=name: seen.append(name))
    expected = model(*inputs)
    assert sorted(seen) == sorted(
        name for name, m in model.named_modules() if isinstance(m, nn.Linear | nn.Embedding)
    )
    model.output_proj = Adapter(model.output_proj)  # type: ignore[assignment, arg-type]
    changed = model(*inputs)
    assert not torch.allclose(changed, expected)
    changed.sum().backward()
    assert model.output_proj.up.weight.grad is not None  # type: ignore[union-attr]


@pytest.mark.parametrize("assign", [False, True])
def test_a_model_made_on_meta_and_loaded_is_the_same(assign: bool) -> None:
    original = small_model()
    with torch.device("meta"):
        empty = Transformer(original.config).eval()
    if not assign:
        empty = empty.to_empty(device="cpu")
        for table in (empty.src_positions.table, empty.tgt_positions.table):
            table.fill_(torch.nan)  # what memory happens to hold
    empty.load_state_dict(original.state_dict(), assign=assign)
    batch = small_batch("cpu", original.config)
    assert torch.equal(empty(*batch), original(*batch))


def test_a_positions_module_made_on_meta_can_be_reset() -> None:
    with torch.device("meta"):
        positions = SinusoidalPositions(12, 16).to(torch.bfloat16)
    positions.to_empty(device="cpu").reset_parameters()
    assert torch.equal(positions.table, sinusoidal_encoding(16, 12).bfloat16())


# --- waits for a GPU ----------------------------------------------------------------------------


class Waits(TorchDispatchMode):
    """Counts the operations for which a GPU would have to finish its work first."""

    NAMES = ("_local_scalar_dense", "nonzero", "item", "masked_select", "unique", "is_nonzero")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = operation.name().removeprefix("aten::").split(".")[0]
        indices = args[1] if name in ("index", "index_put_") else ()
        by_mask = any(i is not None and i.dtype == torch.bool for i in indices)
        if name in self.NAMES or by_mask:
            self.seen.append(name)
        return operation(*args, **(kwargs or {}))


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the CPU as a device that queues its work."""
    for module in (decoding_module, model_module):
        monkeypatch.setattr(module, "queues_work", lambda device: True)


class Lists(TorchFunctionMode):
    """Counts `tolist`, which on the CPU is no operation."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.seen += function is Tensor.tolist
        return function(*args, **(kwargs or {}))


def waits_of(function: Callable[[], Any]) -> int:
    with Waits() as waits, Lists() as lists:
        function()
    return len(waits.seen) + lists.seen


def test_a_pass_looks_at_the_ids_once() -> None:
    model = small_model().train()
    src, tgt = small_batch("cpu", model.config)
    assert waits_of(lambda: model(src, tgt).sum().backward()) == 1
    assert waits_of(lambda: small_gpt()(tgt).sum().backward()) == 1


def never_ending(model: Transformer) -> Transformer:
    with torch.no_grad():
        model.output_proj.weight[EOS] = 0.0
        model.tgt_embedding.weight[3] = 5.0
        model.output_proj.weight[3] = model.tgt_embedding.weight[3]
    return model


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize(
    "search",
    [
        lambda model, src, n: greedy_decode(model, src, BOS, EOS, n),
        lambda model, src, n: sample(model, src, BOS, EOS, n, top_k=3, top_p=0.9),
        lambda model, src, n: beam_search(model, src, BOS, EOS, 3, n),
        lambda model, src, n: generate(small_gpt(max_len=64), src[:, :1] % 19, n, eos_id=EOS),
    ],
    ids=["greedy", "sample", "beam", "gpt"],
)
def test_a_token_costs_no_wait(search: Callable[[Transformer, Tensor, int], Any]) -> None:
    model = never_ending(small_model(max_len=64))
    src, _ = small_batch("cpu", model.config)
    short, long = (waits_of(lambda n=n: search(model, src, n)) for n in (17, 49))
    assert 0 < long - short <= 32 // 8  # one look every eight tokens


def answers(monkeypatch: pytest.MonkeyPatch, queues: bool, run: Callable[[], Any]) -> Any:
    for module in (decoding_module, model_module):
        monkeypatch.setattr(module, "queues_work", lambda device: queues)
    return run()


@pytest.mark.parametrize("use_cache", [True, False])
def test_looking_seldom_changes_no_answer(monkeypatch: pytest.MonkeyPatch, use_cache: bool) -> None:
    lengths = set()
    for seed, rows in ((4, [0, 1, 2, 3, 4]), (4, [0, 1, 3]), (6, [0, 1]), (11, [0, 1, 3])):
        torch.manual_seed(seed)
        model = small_model(max_len=32, num_encoder_layers=1, num_decoder_layers=1).double()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(3.0)
            model.output_proj.weight[EOS] *= 2.0
        src = torch.randint(0, 23, (5, 7))[rows]

        def run(model: Transformer = model, src: Tensor = src) -> list[Tensor]:
            return [
                greedy_decode(model, src, BOS, EOS, 20, use_cache),
                *beam_search(model, src, BOS, EOS, 3, 19, 0.7, 2, use_cache),
                *beam_search(model, src, BOS, EOS, 4, 12, 0.0, 4, use_cache),
            ]

        expected, found = (answers(monkeypatch, queues, run) for queues in (False, True))
        for one, other in zip(expected, found, strict=True):
            torch.testing.assert_close(one, other)  # ids, and scores to rounding
        lengths.add(expected[0].shape[1])
    assert lengths == {2, 14, 20}  # at once, between two looks, never


def test_looking_seldom_changes_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = set()
    for seed in range(6):
        torch.manual_seed(seed)
        model = small_gpt().double()
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
        prompts = torch.randint(0, 19, (4, 3))  # which may hold the end token
        eos = int(generate(model, prompts, 9)[0, -1])
        run = partial(generate, model, prompts, 20, eos_id=eos)
        expected, found = (answers(monkeypatch, queues, run) for queues in (False, True))
        assert torch.equal(expected, found)
        shapes.add(expected.shape[1])
    assert len(shapes) > 2


def count(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record the keyword arguments of each call of a function."""
    calls: list[dict[str, Any]] = []
    original = getattr(module, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs)
        return original(*args, **kwargs)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_the_target_needs_no_mask_where_padding_is_on_the_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = small_model()
    src, tgt = small_batch("cpu", model.config)
    calls = count(F, "scaled_dot_product_attention", monkeypatch)
    model(src, tgt)
    causal = [call for call in calls if call.get("is_causal")]
    assert len(causal) == model.config.num_decoder_layers
    assert all(call.get("attn_mask") is None for call in causal)
    calls.clear()
    model(src.clamp(min=1), tgt)  # nor does a source without padding
    assert all(call.get("attn_mask") is None for call in calls)


def test_decoding_may_be_only_causal() -> None:
    model = small_model().double()
    src, tgt = small_batch("cpu", model.config)
    tgt[0, 1] = PAD
    memory = model.encode(src)
    triangle = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
    expected = model.decode(tgt, memory, triangle)
    torch.testing.assert_close(model.decode(tgt, memory, is_causal=True), expected)
    cache = KVCache(3)
    pieces = [
        model.decode(piece, memory, is_causal=True, cache=cache)
        for piece in tgt.split([1, 1, 3], dim=1)
    ]
    torch.testing.assert_close(torch.cat(pieces, dim=1), expected)
    with pytest.raises(ValueError, match=r"is_causal needs .*tgt_mask=None, got \(1, 1, 5, 5\)"):
        model.decode(tgt, memory, triangle, is_causal=True)


class Operations(TorchDispatchMode):
    """Counts operations by name."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = operation.name().removeprefix("aten::").split(".")[0]
        self.counts[name] = self.counts.get(name, 0) + 1
        return operation(*args, **(kwargs or {}))


@pytest.mark.parametrize("layers", [1, 4])
def test_masks_are_prepared_once_for_all_layers(layers: int) -> None:
    model = small_model(num_encoder_layers=layers, num_decoder_layers=layers)
    src, tgt = small_batch("cpu", model.config)
    mask = target_mask(tgt, PAD)
    seen = padding_mask(src, PAD)
    with torch.no_grad(), Operations() as operations:
        model.encoder(torch.randn(2, 7, 12), seen)
        model.decoder(torch.randn(2, 5, 12), torch.randn(2, 7, 12), mask, seen)
    assert operations.counts["any"] == operations.counts["bitwise_or"] == 3
