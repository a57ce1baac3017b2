"""Masks: their shapes, their meaning, and where they are made."""

from __future__ import annotations

import torch

from transformer_ref import causal_mask, padding_mask, target_mask
from transformer_ref.masks import padding_mask_or_none


def test_padding_mask_hides_key_columns(device: torch.device) -> None:
    ids = torch.tensor([[5, 9, 9], [9, 5, 5]], device=device)
    mask = padding_mask(ids, pad_id=9)
    assert mask.shape == (2, 1, 1, 3)
    assert mask.device == ids.device
    assert mask[:, 0, 0].tolist() == [[True, False, False], [False, True, True]]


def test_no_mask_where_there_is_no_padding(device: torch.device) -> None:
    ids = torch.tensor([[5, 9, 9], [9, 5, 5]], device=device)
    assert padding_mask_or_none(ids, pad_id=0) is None
    mask = padding_mask_or_none(ids, pad_id=9)
    assert mask is not None
    torch.testing.assert_close(mask, padding_mask(ids, pad_id=9))


def test_ids_that_cannot_be_read_keep_their_mask() -> None:
    mask = padding_mask_or_none(torch.empty(2, 3, dtype=torch.int64, device="meta"), pad_id=0)
    assert mask is not None
    assert mask.shape == (2, 1, 1, 3)


def test_causal_mask_shows_the_past_and_itself(device: torch.device) -> None:
    mask = causal_mask(3, device)
    assert mask.shape == (1, 1, 3, 3)
    assert mask.device.type == device.type
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_causal_mask_of_one_token_sees_itself() -> None:
    assert causal_mask(1).tolist() == [[[[True]]]]


def test_causal_mask_is_made_where_asked() -> None:
    assert causal_mask(4, "meta").device.type == "meta"
    assert causal_mask(4).device.type == "cpu"


def test_target_mask_is_both(device: torch.device) -> None:
    ids = torch.tensor([[4, 5, 0], [4, 0, 0]], device=device)
    mask = target_mask(ids, pad_id=0)
    assert mask.shape == (2, 1, 3, 3)
    assert mask.device == ids.device
    assert mask[:, 0].tolist() == [
        [[True, False, False], [True, True, False], [True, True, False]],
        [[True, False, False], [True, False, False], [True, False, False]],
    ]
