"""pick_device takes the fastest device there is; modules work where their inputs are."""

from __future__ import annotations

import pytest
import torch

from tests.package.examples import small_batch, small_model
from transformer_ref import pick_device
from transformer_ref.device import has_bfloat16


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


@pytest.mark.parametrize("name", ["avx512_bf16", "amx_bf16", "bf16", "avx512_f"])
def test_bfloat16_is_what_the_processor_says(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {name: True})
    assert has_bfloat16(torch.device("cpu")) == (name != "avx512_f")
    assert not has_bfloat16(torch.device("mps"))


@pytest.mark.parametrize(("capability", "expected"), [((7, 5), False), ((8, 0), True)])
def test_bfloat16_is_asked_of_the_gpu_in_hand_without_counting_all(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], expected: bool
) -> None:
    asked = {torch.device("cuda:1"): capability}
    monkeypatch.setattr(torch.cuda, "get_device_capability", asked.__getitem__)
    monkeypatch.setattr(torch.cuda, "is_available", pytest.fail)
    assert has_bfloat16(torch.device("cuda:1")) == expected
