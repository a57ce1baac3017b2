"""The assignment "blocks": its answers against torch and the package, and what its checks say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tests.notebooks.assignments import Shell, cells_before_the_tasks, read
from transformer_checks import blocks as reference
from transformer_checks.assignments.blocks import cases as makers
from transformer_checks.judging.exam import make_exam
from transformer_checks.running.asking import call
from transformer_ref import layers as package
from transformer_ref.model import Transformer, TransformerConfig

LOOKUP = "blocks.lookup_network"
ENCODER = "blocks.EncoderLayer"
DECODER = "blocks.DecoderLayer"
DAMAGE = "blocks.damage_by_sublayer"


# --- the answers -----------------------------------------------------------------------------


def as_torch(layer, d_model, num_heads, d_ff, kind):
    """Torch's own layer with the same weights."""
    built = nn.TransformerDecoderLayer if hasattr(layer, "norm3") else nn.TransformerEncoderLayer
    theirs = built(
        d_model, num_heads, d_ff, dropout=0.0, batch_first=True, norm_first=kind == "pre"
    )
    pairs = {"self_attn": layer.self_attention}
    if hasattr(layer, "norm3"):
        pairs["multihead_attn"] = layer.cross_attention
    state = theirs.state_dict()
    for name, ours in pairs.items():
        projections = (ours.q_proj, ours.k_proj, ours.v_proj)
        state[f"{name}.in_proj_weight"] = torch.cat([each.weight for each in projections])
        state[f"{name}.in_proj_bias"] = torch.cat([each.bias for each in projections])
        state[f"{name}.out_proj.weight"] = ours.out_proj.weight
        state[f"{name}.out_proj.bias"] = ours.out_proj.bias
    for name in ("linear1", "linear2"):
        state |= {
            f"{name}.{k}": v for k, v in getattr(layer.feed_forward, name).state_dict().items()
        }
    for name, norm in layer.named_children():
        if name.startswith("norm"):
            state |= {f"{name}.{key}": value for key, value in norm.state_dict().items()}
    theirs.load_state_dict(state)
    return theirs


@pytest.mark.parametrize("kind", ["post", "pre"])
@pytest.mark.parametrize("answer", [reference.EncoderLayer, reference.DecoderLayer])
def test_the_layers_are_torch_s(answer, kind):
    torch.manual_seed(0)
    layer = answer(d_model=12, num_heads=3, d_ff=20, norm=kind)
    for norm in (layer.norm1, layer.norm2):
        nn.init.normal_(norm.weight)
    theirs = as_torch(layer, 12, 3, 20, kind)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    given = (x, memory) if hasattr(layer, "norm3") else (x,)
    torch.testing.assert_close(layer(*given), theirs(*given))


@pytest.mark.parametrize(("src_len", "tgt_len"), [(5, 3), (4, 4), (1, 9)])
def test_the_count_is_that_of_torch(src_len, tgt_len):
    with torch.device("meta"):
        model = Transformer(TransformerConfig(11, 11, 8, 2, 3, 3, 20, tie_weights="all"))
        src, tgt = (torch.ones(1, n, dtype=torch.int64) for n in (src_len, tgt_len))
        with FlopCounterMode(display=False) as counter:
            model(src, tgt)
    found = reference.count_multiplications(8, 20, 3, 11, src_len, tgt_len)
    assert 2 * found == counter.get_total_flops()


@pytest.mark.parametrize("seed", range(20))
def test_keys_differ_and_some_are_neighbors(seed):
    for case in make_exam(LOOKUP, seed).cases:
        keys, values = case.arguments["keys"], case.arguments["values"]
        assert len(np.unique(keys, axis=0)) == len(keys)
        assert (np.abs(keys) == 1).all()
        assert (np.abs(values) >= 0.5).all()
        if len(keys) > 2:
            differ = (keys[:, None] != keys).sum(axis=-1)
            assert (differ == 1).any()


@pytest.fixture(scope="module")
def shell():
    """A shell that knows the bug as it was found."""
    shell, notebook = Shell(), read("exercises", "blocks")
    sources = [cell.source for cell in cells_before_the_tasks(notebook)]
    sources += [cell.source for cell in notebook.cells if cell.id.endswith("-as-found")]
    assert len(sources) == 3
    for source in sources:
        assert shell.run(source).error is None
    return shell


def test_what_the_text_says_of_the_bug(shell):
    """One token passes; padding and the future change what a token becomes."""
    as_found = shell.run("add_and_norm_as_found").value
    x, change, weight, bias = torch.randn(2, 5, 8), torch.randn(2, 5, 8), *torch.randn(2, 8)
    rest = (weight, bias, 1e-5)
    for length, same in ((1, True), (5, False)):
        cut = x[:, :length], change[:, :length]
        right = reference.add_and_norm(*cut, *rest)
        assert torch.allclose(as_found(*cut, *rest), right, atol=1e-5) is same
    padded = [F.pad(each, (0, 0, 0, 2)) for each in (x, change)]
    for function, same in ((as_found, False), (reference.add_and_norm, True)):
        before, after = function(x, change, *rest), function(*padded, *rest)[:, :5]
        assert torch.allclose(before, after, atol=1e-5) is same


# --- the cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("key", [ENCODER, DECODER])
def test_both_kinds_of_norm_and_the_default_are_tried_with_masks(key, seed):
    exam = make_exam(key, seed)
    for kind in (None, "post", "pre"):
        those = [case for case in exam.cases if case.settings.get("norm") == kind]
        masked = [
            case
            for case in those
            if any(name.endswith("mask") and m is not None for name, m in case.arguments.items())
        ]
        assert len(those) > len(masked) >= 2
    kinds = {case.settings.get("norm", "post") for case in exam.cases if case.cotangent is not None}
    assert kinds == {"post", "pre"}


@pytest.mark.parametrize("seed", range(20))
def test_the_lengths_of_the_decoder_differ_both_ways_and_agree(seed):
    lengths = [
        (case.arguments["x"].shape[1], case.arguments["memory"].shape[1])
        for case in make_exam(DECODER, seed).cases
    ]
    assert min(sum(t < s for t, s in lengths), sum(t > s for t, s in lengths)) >= 2
    assert sum(t == s for t, s in lengths) >= 2


@pytest.mark.parametrize("seed", range(20))
def test_every_query_may_see_a_key(seed):
    for key in (ENCODER, DECODER):
        for case in make_exam(key, seed).cases:
            for name, mask in case.arguments.items():
                if name.endswith("mask") and mask is not None:
                    assert mask.dtype == np.bool_
                    assert mask.any(axis=-1).all()


# --- cases whose answer is known from their make ---------------------------------------------


def written(weights, layer):
    """What the two sublayers write, in numpy, where the norms have the weight 0."""

    def linear(name, x):
        return x @ weights[f"{layer}.{name}.weight"].T + weights[f"{layer}.{name}.bias"]

    values = linear("self_attention.v_proj", weights[f"{layer}.norm1.bias"])
    hidden = linear("feed_forward.linear1", weights[f"{layer}.norm2.bias"])
    return (
        linear("self_attention.out_proj", values),
        linear("feed_forward.linear2", np.maximum(hidden, 0)),
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_damage_of_layers_made_for_it_is_what_their_make_says(seed):
    exam = make_exam(DAMAGE, seed)
    constant = taken_back = 0
    for case, outcome in zip(exam.cases, exam.expected, strict=True):
        damage, weights = outcome.values["damage"], case.arguments["layers"]["weights"]
        if makers.CONSTANT in case.name:
            constant += 1
            right = [[(each**2).mean() for each in written(weights, n)] for n in range(len(damage))]
            np.testing.assert_allclose(damage, right, rtol=1e-4)
        if makers.TAKEN_BACK in case.name:
            taken_back += 1
            assert damage[0, 0] < 1e-6  # whatever the later layers are
            assert damage[0, 1] > 0.5
            if len(damage) == 1:  # the whole of what the network writes stays
                change = weights["0.self_attention.out_proj.bias"][:2]
                size = (change**2).sum() / case.arguments["x"].shape[-1]
                np.testing.assert_allclose(damage[0, 1], size, rtol=1e-4)
    assert (constant, taken_back) == (2, 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(5))
def test_the_dead_units_are_those_that_were_made_dead(seed, dtype):
    rng = np.random.default_rng(seed)
    roles = [str(role) for role in rng.choice(makers.ROLES, size=12)]
    case = makers.unit_case(rng, roles, (3, 4, 5), dtype)
    weights, x = case.arguments["feed_forward"]["weights"], torch.from_numpy(case.arguments["x"])
    network = package.FeedForward(5, 12).to(x.dtype)
    network.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
    found = reference.dead_units(network, x)
    assert found == [n for n, role in enumerate(roles) if role in makers.DEAD_ROLES]
    fires = (network.linear1(x) > 0).flatten(0, 1).sum(0)
    often = {"once": 1, "often": 6, "on": 12, "unheard": 12}
    assert fires.tolist() == [often.get(role, 0) for role in roles]
    network.linear1.weight.data[found], network.linear2.weight.data[:, found] = 7.0, 0.0
    before = package.FeedForward(5, 12).to(x.dtype)
    before.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
    torch.testing.assert_close(network(x), before(x))  # they are gone, and nothing has changed


def test_what_the_text_says_of_the_layers_by_hand():
    notebook = read("exercises", "blocks")
    shell = Shell()
    for source in [cell.source for cell in cells_before_the_tasks(notebook)]:
        assert shell.run(source).error is None
    given = next(cell for cell in notebook.cells if cell.id == "damage-by-sublayer-given")
    assert shell.run(given.source).error is None
    layers, token = shell.run("by_hand").value, shell.run("token").value
    damage = reference.damage_by_sublayer(layers, token)
    torch.testing.assert_close(
        damage, torch.tensor([[0.0, 36.0], [1.0, 0.5]]), atol=1e-3, rtol=1e-3
    )
    network = layers[0].feed_forward
    assert reference.dead_units(network, torch.tensor([[[-1.0, 1.0]]])) == [1]
    assert reference.dead_units(network, layers[0].norm2(token)) == [0, 1]


# --- how a layer is called -------------------------------------------------------------------


def test_norm_comes_by_its_name():
    """Behind a dropout of one's own, and where the other arguments have other names."""

    def dropout_first(d, h, hidden, dropout=0.0, norm="post"):
        return dropout, norm

    def by_name_only(d, h, hidden, *, norm="post"):
        return norm

    def in_place(d, h, hidden, norm="post"):
        return norm

    given = {"d_model": 4, "num_heads": 2, "d_ff": 8, "norm": "pre"}
    assert call(dropout_first, given) == (0.0, "pre")
    assert call(by_name_only, given) == "pre"
    assert call(in_place, given) == "pre"
    assert call(lambda *args: args, given) == (4, 2, 8, "pre")
