"""The task of the chapter on depth, and the longer runs on it."""

from __future__ import annotations

import itertools

import pytest
import torch

from transformer_ref.applications.g2p import MODEL_CONFIG, make_examples
from transformer_ref.data import load_cmudict
from transformer_ref.experiments import depth
from transformer_ref.experiments.results import load_results
from transformer_ref.gpt import GPT
from transformer_ref.model import Transformer


def what_followed(ids: list[int], place: int) -> int | None:
    """The place after the last earlier occurrence, found by looking."""
    for earlier in range(place - 1, -1, -1):
        if ids[earlier] == ids[place]:
            return earlier + 1
    return None


def test_the_labels_are_what_followed_once_and_twice() -> None:
    torch.manual_seed(1)
    ids, labels, answer_at = depth.recall_batch(20)
    second = depth.second_step(labels, answer_at)
    assert (second != depth.NOT_ASKED).any()
    for row, first_row, second_row in zip(
        *map(torch.Tensor.tolist, (ids, labels, second)), strict=True
    ):
        assert sorted(row) == sorted(2 * list(range(depth.SYMBOLS)))
        for place, (first, then) in enumerate(zip(first_row, second_row, strict=True)):
            found = what_followed(row, place)
            assert first == (depth.NOT_ASKED if found is None else row[found])
            again = None if found is None else what_followed(row, found)
            assert then == (depth.NOT_ASKED if again is None else row[again])


def test_two_layers_by_hand_find_what_followed() -> None:
    step = depth.by_hand()
    before, found = step["before"].round().tolist(), step["found"].round().tolist()
    for place in range(2, len(depth.TOKENS)):  # before the first letter stands the start
        assert depth.LETTERS[before[place].index(1)] == depth.TOKENS[place - 1]
    assert depth.LETTERS[found[-1].index(1)] == "k"
    for weights in (step["back_weights"], step["weights"]):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(len(depth.TOKENS)))
        assert (weights.triu(1) == 0).all()


@pytest.mark.parametrize("dilation", [1, 2])
def test_convolutions_reach_the_tokens_that_have_a_gradient(dilation: int) -> None:
    seen = depth.reach(5, 3, dilation)
    for layers, places in enumerate(seen):
        torch.manual_seed(0)
        x = torch.randn(1, 3, 61, requires_grad=True)
        stack = [torch.nn.Conv1d(3, 3, 5, padding="same", dilation=dilation)] * layers
        output = torch.nn.Sequential(*stack)(x)[0, :, 30].sum()
        (gradient,) = torch.autograd.grad(output, x)
        assert set((gradient[0].norm(dim=0).nonzero().flatten() - 30).tolist()) == places


def test_guessing_is_right_as_often_as_one_in_the_places_before() -> None:
    torch.manual_seed(0)
    ids, labels, _ = depth.recall_batch(2000)
    expected, asked = 0.0, labels != depth.NOT_ASKED
    for row, answers in zip(ids.tolist(), labels.tolist(), strict=True):
        for place in range(1, depth.LENGTH):
            if answers[place] != depth.NOT_ASKED:
                expected += row[:place].count(answers[place]) / place
    share = depth.share_by_guessing(ids, labels)
    assert abs(share - expected / int(asked.sum())) < 0.01


def test_maps_are_those_of_a_causal_model() -> None:
    torch.manual_seed(0)
    maps = depth.maps_of(depth.new_reader(2).eval(), depth.recall_batch(3)[0])
    assert [tuple(weights.shape) for weights in maps] == [(3, depth.LENGTH, depth.LENGTH)] * 2
    for weights in maps:
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, depth.LENGTH))
        assert (weights.triu(1) == 0).all()


def test_a_run_has_a_number_for_each_step_asked_and_is_the_same_again() -> None:
    both = [depth.two_step_run(1, 0, 12) for _ in range(2)]
    assert both[0] == both[1]
    assert len(both[0]) == 2
    assert len(depth.two_step_run(1, 0, 12, first_too=False)) == 1
    widths = depth.width_run(8, steps=(10, 20))
    assert len(widths["right"]) == 2


def test_a_key_that_is_forbidden_is_not_seen() -> None:
    torch.manual_seed(0)
    model, (ids, labels, _) = depth.new_reader(1).eval(), depth.recall_batch(8)
    nothing = torch.zeros(8, depth.LENGTH, depth.LENGTH, dtype=torch.bool)
    plain = depth.share_right(model(ids), labels)
    assert depth.share_without(model, 0, nothing, ids, labels) == plain

    forbidden = nothing.clone()
    forbidden[:, :, :2] = True  # then only the two first themselves may still differ
    forbidden[:, [0, 1], [0, 1]] = False
    seen: list[torch.Tensor] = []
    model.output_proj.register_forward_hook(lambda module, args, logits: seen.append(logits))
    for tokens in (ids, torch.cat([ids[:, [1, 0]], ids[:, 2:]], dim=1)):
        depth.share_without(model, 0, forbidden, tokens, labels)
    torch.testing.assert_close(seen[0][:, 2:], seen[1][:, 2:])


def answer_by_hand(model: GPT, ids: torch.Tensor, hidden: tuple[int, int] | None) -> torch.Tensor:
    """The last answer of a reader of two layers, one head and pre-norm, query by query."""
    (x,) = model.positions(model.embedding(ids[None]))
    for index, layer in enumerate(model.layers):
        attention, read = layer.self_attention, layer.norm1(x)
        query, key, value = (
            part(read) for part in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        mixed = torch.zeros_like(x)
        for t in range(len(ids)):
            seen = [s for s in range(t + 1) if (index, s) != hidden]
            if seen:
                weights = (key[seen] @ query[t] / query.shape[-1] ** 0.5).softmax(dim=0)
                mixed[t] = weights @ value[seen]
        x = x + attention.out_proj(mixed)
        x = x + layer.feed_forward(layer.norm2(x))
    logits: torch.Tensor = model.output_proj(model.norm(x[-1]))
    return logits.softmax(dim=-1)


def test_each_key_is_hidden_from_all_queries_of_its_layer() -> None:
    torch.manual_seed(0)
    model, ids = depth.new_reader(2).eval(), depth.recall_batch(1)[0][0, :6]
    for weight in model.parameters():  # so that the attention matters
        torch.nn.init.normal_(weight, std=0.5)
    found = depth.hide_each_key(model, ids)
    with torch.inference_mode():
        torch.testing.assert_close(found["answer"], answer_by_hand(model, ids, None))
        for layer, key in itertools.product(range(2), range(6)):
            expected = answer_by_hand(model, ids, (layer, key))
            torch.testing.assert_close(found["without"][layer, key], expected)
    maps = torch.cat(depth.maps_of(model, ids[None]))
    assert torch.equal(found["weights"], maps)


def test_the_last_state_of_the_decoder_is_what_the_output_layer_reads() -> None:
    torch.manual_seed(0)
    model = Transformer(MODEL_CONFIG).eval()
    examples = make_examples(load_cmudict("dev")[:5])
    states, labels = depth.decoder_states(model, examples)
    assert states.shape == (4, len(labels), MODEL_CONFIG.d_model)
    by_length = sorted(examples, key=lambda example: len(example[0]))
    expected, asked = [], []
    for source, target in by_length:
        inputs = torch.tensor([target[:-1]])
        expected.append(model(torch.tensor([source]), inputs)[0])
        asked += target[1:]
    read = model.output_proj(model.decoder.norm(states[-1]))
    torch.testing.assert_close(read, torch.cat(expected), atol=1e-4, rtol=1e-4)
    assert labels.tolist() == asked


def test_a_probe_reads_what_is_linear() -> None:
    torch.manual_seed(0)
    labels = torch.randint(40, (3000,))
    states = torch.randn(40, 64)[labels] + 0.1 * torch.randn(3000, 64)
    probe = depth.train_probe(states, labels)
    assert depth.share_named(probe(states), labels) > 0.99


def test_costs_are_those_of_the_formulas() -> None:
    layers, size, length = 2, 32, depth.COST_LENGTH
    found = depth.costs(layers, size)
    assert found["parameters, millions"] == layers * (12 * size**2 + 13 * size) / 1e6
    attention = 4 * length * size**2 * 2 + 2 * length**2 * size * 2
    feed_forward = 8 * length * size**2 * 2
    output = depth.COST_SYMBOLS * size * length * 2
    operations = layers * (attention + feed_forward) + output
    assert found["operations, billions"] == operations / 1e9
    assert found["products in a row"] == 6 * layers + 1  # value, weights, out; or query, scores
    assert found["cache, numbers a token"] == 2 * layers * size
    wider = depth.costs(2 * layers, size)
    assert 1.8 < wider["kept, MiB"] / found["kept, MiB"] < 2
    assert depth.milliseconds(1, 8, 1, 1) > 0


def test_the_committed_results_are_those_of_the_script() -> None:
    results = load_results("depth")
    assert results["steps"] == list(depth.STEPS)
    assert [run["layers"] for run in results["seeds"]] == list(depth.LAYERS)
    assert [run["d_model"] for run in results["widths"]] == list(depth.WIDTHS)
    assert [run["layers"] for run in results["steps_by_layers"]] == list(depth.LAYERS_FOR_TWO)
    assert all(len(run["right"]) == len(depth.TEN_SEEDS) for run in results["seeds"])
    assert all(len(run["right"]) == len(depth.STEPS) for run in results["widths"])
    assert all(len(run["right"]) == len(depth.THREE_SEEDS) for run in results["steps_by_layers"])
    assert len(results["second_step_alone"]["right"]) == len(depth.THREE_SEEDS)
