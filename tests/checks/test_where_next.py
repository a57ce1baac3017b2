"""The assignment "where_next": its answers against what is known without them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.notebooks.assignments import prepared_shell, read
from transformer_checks import where_next as reference
from transformer_checks.judging.exam import make_exam
from transformer_ref.experiments import where_next as example
from transformer_ref.positions import shift_matrix


def test_a_product_of_turned_vectors_depends_on_the_distance_only():
    query, key = torch.randn(2, 1, 8, dtype=torch.float64)
    for pairing in ("neighbors", "halves"):

        def product(first, second, pairing=pairing):
            turned = [
                reference.rotate(vector[None], torch.tensor([place]), pairing)
                for vector, place in ((query, first), (key, second))
            ]
            return (turned[0] @ turned[1].mT).item()

        assert product(12, 7) == pytest.approx(product(1012, 1007), 1e-4)
        assert product(12, 7) != pytest.approx(product(12, 8), 1e-4)


def test_neighbors_turn_like_the_package():
    x = torch.randn(5, 12)
    turned = reference.rotate(x, torch.arange(5), "neighbors")
    # The package's matrix turns the other way, so it stands on the right.
    for place in range(5):
        torch.testing.assert_close(turned[place], x[place] @ shift_matrix(place, 12).to(x))


def test_halves_turn_like_the_library():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    x, positions = torch.randn(1, 1, 4, 10), torch.tensor([3, 8, 1, 100])
    angles = positions[:, None] * 10000.0 ** (-torch.arange(0, 10, 2) / 10)
    cos, sin = (
        torch.cat([angles, angles], -1).cos()[None],
        torch.cat([angles, angles], -1).sin()[None],
    )
    theirs, _ = llama.apply_rotary_pos_emb(x, x, cos, sin)
    torch.testing.assert_close(reference.rotate(x, positions, "halves"), theirs)


def test_a_cache_changes_nothing():
    query, key, value = torch.randn(2, 6, 9, 4), torch.randn(2, 2, 9, 4), torch.randn(2, 2, 9, 3)
    whole = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    for new in (1, 4, 9):
        part = reference.grouped_attention(query[:, :, -new:], key, value)
        torch.testing.assert_close(part, whole[:, :, -new:])


def test_an_even_load_gives_one_and_the_weights_are_those_of_the_page():
    scores = torch.eye(4) * 3.0
    loss, weights = reference.route(scores, 1)
    assert loss.item() == pytest.approx(1.0)
    assert torch.equal(weights, torch.eye(4))
    step = example.router_by_hand()
    weights = reference.route(step["scores"][None], 2)[1][0]
    torch.testing.assert_close(weights[step["chosen"]], step["weights"])


def test_accepted_tokens_are_distributed_like_the_models():
    """Sum over all guesses and a grid of uniform numbers: what is left is the model's row."""
    step, places = example.acceptance_by_hand(), (np.arange(50) + 0.5) / 50
    draft, model = step["draft"][None], torch.stack([step["model"], torch.tensor([0.2, 0.5, 0.3])])
    first, second = torch.zeros(3), torch.zeros(3)
    for guess in range(3):
        for u in places:
            for v in places:
                uniforms = torch.tensor([u, v], dtype=torch.float32)
                new = reference.accept([guess], draft, model, uniforms)
                first[new[0]] += draft[0, guess] / 2500
                if len(new) == 2:
                    second[new[1]] += draft[0, guess] / 2500
    torch.testing.assert_close(first, model[0], atol=0.01, rtol=0.0)
    torch.testing.assert_close(second / second.sum(), model[1], atol=0.02, rtol=0.0)


def test_models_of_the_task_are_those_of_the_page():
    notebook = read("solutions", "where_next")
    shell = prepared_shell(notebook)
    given = next(cell for cell in notebook.cells if cell.id == "what-limits-given")
    assert shell.run(given.source).error is None
    models, card = shell.run("models").value, shell.run("h100").value
    for name in ("Llama 2 7B", "Llama 3 8B"):
        sizes, takes = example.PUBLISHED[name], example.resources(example.PUBLISHED[name])
        assert models[name]["parameters"] == models[name]["used"] == takes.parameters
        assert models[name]["sets"] == sizes.num_sets
        rate, limit = reference.what_limits(models[name], card, 1, 1)
        assert limit == "bandwidth"
        assert 1 / rate == pytest.approx(takes.seconds, 1e-3)
    # Mixtral: eight experts of three matrices, of which a token uses two, and a router, per layer.
    mixtral, expert = models["Mixtral 8x7B"], 32 * 3 * 4096 * 14_336
    dense = example.count_parameters(example.Sizes(4096, 32, 32, 8, 14_336, 32_000))
    assert mixtral["parameters"] == dense + 7 * expert + 32 * 8 * 4096
    assert mixtral["used"] == mixtral["parameters"] - 6 * expert
    assert (card["bandwidth"], card["operations"]) == (example.BANDWIDTH, example.OPERATIONS)


def test_reordered_weights_give_the_same_scores():
    """Queries are reordered like keys, with a set for each head."""
    x, positions = torch.randn(5, 7, dtype=torch.float64), torch.arange(5)
    for heads, sets in ((4, 1), (6, 2)):
        query, key = (torch.randn(each * 6, 7, dtype=torch.float64) for each in (heads, sets))
        moved = [
            reference.to_neighbors(query, heads, heads),
            reference.to_neighbors(key, heads, sets),
        ]
        scores = {}
        for pairing, matrices in (("halves", (query, key)), ("neighbors", moved)):
            q, k = (
                reference.rotate(
                    (x @ each.T).unflatten(-1, (-1, 6)).transpose(0, 1), positions, pairing
                )
                for each in matrices
            )
            scores[pairing] = q @ k.repeat_interleave(heads // sets, dim=0).mT
        torch.testing.assert_close(scores["neighbors"], scores["halves"])


@pytest.mark.parametrize("seed", range(4))
def test_the_code_as_found_cuts_otherwise_in_every_case(seed):
    for case in make_exam("where_next.find_the_bug", seed).cases:
        heads, sets = case.arguments["num_heads"], case.arguments["num_sets"]
        assert heads // sets != sets
        assert len(case.arguments["weight"]) % (2 * (heads // sets)) == 0
