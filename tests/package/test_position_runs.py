"""The example by hand of the chapter on positions, and the small model of its closer look."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from transformer_ref.experiments.positions import Copier, by_hand, copy_accuracy, train_copier
from transformer_ref.positions import Positions


def test_each_number_of_the_example_is_what_a_calculator_says() -> None:
    step = by_hand()
    for position, row in enumerate(step["PE"].tolist()):
        slow = position / 100
        expected = [math.sin(position), math.cos(position), math.sin(slow), math.cos(slow)]
        assert row == pytest.approx(expected, abs=1e-6)
    torch.testing.assert_close(step["M"].float() @ step["PE"][1], step["PE"][3])


def test_only_positions_tell_the_two_dogs_of_the_example_apart() -> None:
    step = by_hand()
    assert step["X_backwards"].equal(step["X"].flip(0))
    torch.testing.assert_close(step["attended"].flip(0), step["attended_backwards"])
    assert not torch.allclose(step["sum"].flip(0), step["sum_backwards"], atol=0.1)


class Oracle(Copier):
    """Knows the token before."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        return torch.nn.functional.one_hot(ids[:, :-1], 10).float()


def test_who_knows_the_token_before_is_always_right() -> None:
    assert copy_accuracy(Oracle("sinusoidal"), length=7).tolist() == [1.0] * 6


@pytest.mark.parametrize("kind", ["learned", "sinusoidal"])
def test_training_teaches_to_copy(kind: Positions) -> None:
    torch.manual_seed(0)
    model = Copier(kind)
    before = copy_accuracy(model).mean()
    assert before < 0.3
    assert copy_accuracy(train_copier(model, steps=150)).mean() > before + 0.3
