"""The layer of today: against the transformers library, torch, and the package's own GPT."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from transformer_ref.attention import MultiHeadAttention
from transformer_ref.cache import GrowingCache, KVCache
from transformer_ref.gpt import GPT, GPTConfig, generate
from transformer_ref.modern import GroupedAttention, ModernConfig, ModernGPT, SwiGLU, rotate
from transformer_ref.positions import shift_matrix

pytestmark = pytest.mark.usefixtures("default_device")

OFF: dict[str, Any] = {"rms_norm": False, "rotary": False, "gated": False, "attention_bias": True}
CONFIG = ModernConfig(
    19, d_model=24, num_heads=6, num_layers=2, d_ff=20, max_len=24, dropout=0.0, num_sets=2
)
ALONE: dict[str, dict[str, Any]] = {
    "GPT-2": {},
    "RMSNorm": {"rms_norm": True},
    "rotary": {"rotary": True},
    "SwiGLU": {"gated": True},
    "grouped": {"num_sets": 2},
}
CONFIGS = {name: replace(CONFIG, **{**OFF, "num_sets": None, **it}) for name, it in ALONE.items()}
CONFIGS["all four"] = CONFIG
EVERY_MODEL = pytest.mark.parametrize("name", CONFIGS)


def random_model(config: ModernConfig) -> ModernGPT:
    """An untrained model with large weights, so that its texts vary."""
    torch.manual_seed(0)
    model = ModernGPT(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_neighbors_turn_by_the_matrix_of_their_position(dtype: torch.dtype) -> None:
    """By the package's shift matrix, which turns the other way; far positions keep their angles."""
    x = torch.randn(2, 3, 5, 8).to(dtype)
    positions = torch.tensor([4999, 0, 7, 3, 2500])
    turned = rotate(x, positions)
    close = {"atol": 2e-3, "rtol": 2e-3} if dtype == torch.float16 else {}
    assert turned.dtype == dtype
    for place, position in enumerate(positions.tolist()):
        expected = x[:, :, place].double() @ shift_matrix(position, 8)
        torch.testing.assert_close(turned[:, :, place], expected.to(dtype), **close)


def test_halves_turn_as_in_llama() -> None:
    config = LlamaConfig(hidden_size=32, num_attention_heads=2)
    q, k = torch.randn(2, 2, 5, 16), torch.randn(2, 2, 5, 16)
    positions = torch.tensor([0, 3, 4, 900, 17])
    cos, sin = LlamaRotaryEmbedding(config)(q, positions[None])
    for mine, theirs in zip((q, k), apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        torch.testing.assert_close(rotate(mine, positions, "halves"), theirs, atol=1e-4, rtol=1e-4)


def test_bad_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="pairing"):
        rotate(torch.ones(3, 4), torch.arange(3), "half")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="even"):
        rotate(torch.ones(3, 5), torch.arange(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_sets_are_equal_keys_and_values_of_ordinary_heads(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    grouped = GroupedAttention(24, 6, 2, rotary=False, bias=True).to(dtype)
    plain = MultiHeadAttention(24, 6).to(dtype)
    weights = dict(grouped.state_dict())
    for name in ("k_proj", "v_proj"):
        for kind in ("weight", "bias"):
            sets = weights[f"{name}.{kind}"].unflatten(0, (2, 4))  # (G, K, ...)
            copied = [sets[head // 3] for head in range(6)]
            weights[f"{name}.{kind}"] = torch.cat(copied)
    plain.load_state_dict(weights)
    x = torch.randn(2, 7, 24, dtype=dtype)
    torch.testing.assert_close(grouped(x), plain(x, x, x, is_causal=True))


def test_only_distances_count() -> None:
    """A cache filled with other tokens moves a text on; what is hidden changes nothing."""
    torch.manual_seed(0)
    attention, x = GroupedAttention(24, 6, 2).double(), torch.randn(1, 5, 24, dtype=torch.float64)
    cache = GrowingCache()
    attention(torch.randn(1, 90, 24, dtype=torch.float64), cache=cache)
    hidden = torch.cat((torch.zeros(5, 90), torch.ones(5, 5).tril()), dim=1).bool()
    torch.testing.assert_close(attention(x, hidden, is_causal=False, cache=cache), attention(x))


def test_the_gate_opens_by_the_sigmoid() -> None:
    network, x = SwiGLU(4, 6), torch.randn(3, 4)
    z = x @ network.gate.weight.T
    expected = (z * torch.sigmoid(z) * (x @ network.up.weight.T)) @ network.down.weight.T
    torch.testing.assert_close(network(x), expected)


@torch.no_grad()
def test_without_any_change_it_is_gpt() -> None:
    sizes = {"num_heads": 6, "num_layers": 2, "d_ff": 20, "max_len": 24, "dropout": 0.1}
    theirs = GPT(GPTConfig(19, 24, **sizes))
    mine = ModernGPT(ModernConfig(19, 24, **sizes, **OFF))
    mine.load_state_dict(theirs.state_dict())
    ids = torch.randint(19, (3, 9))
    outputs = []
    for model in (mine, theirs):
        torch.manual_seed(1)  # of the dropout
        outputs.append(model.train()(ids))
    torch.testing.assert_close(*outputs)


def test_each_sublayer_ends_in_a_matrix_that_starts_smaller() -> None:
    deep = ModernGPT(replace(CONFIG, num_layers=8))
    for layer in deep.layers:
        for linear in (layer.self_attention.out_proj, layer.feed_forward.down):
            bound = (6 / sum(linear.weight.shape)) ** 0.5 / 16**0.5
            assert 0.9 * bound < linear.weight.abs().max() <= bound


def halves(weight: Tensor, heads: int) -> Tensor:
    """Reorder the rows of each head: the library pairs feature i with i + half."""
    rows = weight.unflatten(0, (heads, -1, 2))  # (heads, pairs, 2, D)
    return rows.transpose(1, 2).flatten(end_dim=2)


def in_the_names_of_llama(model: ModernGPT) -> dict[str, Tensor]:
    """The weights of a model, with the rows of queries and keys reordered for the other pairs."""
    state = model.state_dict()
    heads, sets = model.config.num_heads, model.config.num_sets
    found = {
        "model.embed_tokens.weight": state["embedding.embedding.weight"],
        "model.norm.weight": state["norm.weight"],
        "lm_head.weight": state["output_proj.weight"],
    }
    for number in range(model.config.num_layers):
        there, here = f"model.layers.{number}", f"layers.{number}"
        attention = f"{here}.self_attention"
        found |= {
            f"{there}.input_layernorm.weight": state[f"{here}.norm1.weight"],
            f"{there}.post_attention_layernorm.weight": state[f"{here}.norm2.weight"],
            f"{there}.self_attn.q_proj.weight": halves(state[f"{attention}.q_proj.weight"], heads),
            f"{there}.self_attn.k_proj.weight": halves(state[f"{attention}.k_proj.weight"], sets),
            f"{there}.self_attn.v_proj.weight": state[f"{attention}.v_proj.weight"],
            f"{there}.self_attn.o_proj.weight": state[f"{attention}.out_proj.weight"],
        }
        for name in ("gate", "up", "down"):
            weight = state[f"{here}.feed_forward.{name}.weight"]
            found[f"{there}.mlp.{name}_proj.weight"] = weight
    return found


@torch.no_grad()
def test_with_all_changes_it_is_llama() -> None:
    mine = random_model(replace(CONFIG, tie_weights=False))
    config = LlamaConfig(
        vocab_size=19, hidden_size=24, num_attention_heads=6, num_key_value_heads=2,
        num_hidden_layers=2, intermediate_size=20, rms_norm_eps=torch.finfo(torch.float32).eps,
    )  # fmt: skip
    theirs = LlamaForCausalLM(config).eval()
    theirs.load_state_dict(in_the_names_of_llama(mine))
    ids = torch.randint(19, (3, 9))
    expected = theirs(ids).logits
    assert expected.std() > 0.5, "weights so large that the layers count"
    torch.testing.assert_close(mine(ids), expected, atol=1e-4, rtol=1e-4)


@EVERY_MODEL
@torch.no_grad()
def test_a_cache_changes_nothing(name: str) -> None:
    model = random_model(CONFIGS[name]).double()
    ids = torch.randint(19, (2, 9))
    cache = KVCache(2)
    parts = [model(part, cache) for part in ids.split([4, 3, 1, 1], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(ids))
    sets = model.config.num_sets or 6
    keys, _ = cache.layers[0].self_attention.append(*torch.zeros(2, 2, sets, 0, 4).double())
    assert keys.shape == (2, sets, 9, 4), "shared keys are kept once"


@EVERY_MODEL
def test_no_token_sees_a_later_one(name: str) -> None:
    model, ids = random_model(CONFIGS[name]), torch.randint(19, (1, 9))
    other = ids.clone()
    other[0, 5] = (other[0, 5] + 1) % 19
    same = (model(ids) == model(other)).all(dim=-1)[0]
    assert same.tolist() == [True] * 5 + [False] * 4


@EVERY_MODEL
def test_it_is_saved_and_read_with_its_changes(name: str, tmp_path: Path) -> None:
    model, ids = random_model(CONFIGS[name]), torch.randint(19, (2, 5))
    model.save_pretrained(tmp_path)
    read = ModernGPT.from_pretrained(tmp_path).to(ids.device)
    assert read.config == model.config
    assert torch.equal(generate(read, ids, 6), generate(model, ids, 6))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_sets": 4}, "num_sets must divide num_heads = 6, got 4"),
        ({"num_sets": 0}, "num_sets"),
        ({"num_heads": 8}, "rotary .* got d_model / num_heads = 3"),
        ({"norm": "post"}, "norm"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(CONFIG, **changes)


def test_a_gpt2_becomes_a_gpt_also_when_a_modern_one_is_asked() -> None:
    sizes = {"n_embd": 24, "n_layer": 1, "n_head": 2, "n_positions": 8}
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=19, **sizes)).eval()
    ours = ModernGPT.from_gpt2(theirs)
    assert type(ours) is GPT
    ids = torch.tensor([[3, 1, 4]])
    torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-5, atol=1e-5)
