"""pick_device takes the fastest device there is; modules work where their inputs are."""

from __future__ import annotations

import pytest
import torch

from tests.package.examples import small_batch, small_model
from transformer_ref import pick_device


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_order(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert pick_device() == torch.device(expected)


def test_model_computes_where_it_is(device: torch.device) -> None:
    model = small_model(device)
    logits = model(*small_batch(device, model.config))
    assert logits.device.type == device.type
