"""The task of the chapter on depth, and the longer runs on it."""

from __future__ import annotations

import torch

from transformer_ref.experiments import depth
from transformer_ref.experiments.results import load_results


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


def test_a_run_has_a_number_for_each_step_asked_and_is_the_same_again() -> None:
    both = [depth.two_step_run(1, 0, 12) for _ in range(2)]
    assert both[0] == both[1]
    assert len(both[0]) == 2
    assert len(depth.two_step_run(1, 0, 12, first_too=False)) == 1
    widths = depth.width_run(8, steps=(10, 20))
    assert len(widths["right"]) == 2


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
