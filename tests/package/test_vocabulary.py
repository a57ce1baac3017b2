"""Vocabulary: tokens to ids and back."""

from __future__ import annotations

import pytest
import torch

from transformer_ref import Vocabulary


def test_specials_come_first() -> None:
    vocabulary = Vocabulary("cat")
    assert vocabulary.tokens == ("<pad>", "<bos>", "<eos>", "c", "a", "t")
    assert (vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id) == (0, 1, 2)
    assert len(vocabulary) == 6


def test_encode() -> None:
    vocabulary = Vocabulary(["AE1", "K", "T"])
    assert vocabulary.encode(["K", "AE1", "T"]) == [4, 3, 5]
    assert vocabulary.encode(["K"], bos=True) == [1, 4]
    assert vocabulary.encode(["K"], eos=True) == [4, 2]
    assert vocabulary.encode([], bos=True, eos=True) == [1, 2]


@pytest.mark.parametrize("make", [list, torch.tensor], ids=["list", "tensor"])
def test_decode_stops_at_the_end_and_drops_specials(make: type) -> None:
    vocabulary = Vocabulary("cat")
    assert vocabulary.decode(make([1, 3, 0, 4, 5, 2, 3, 3])) == ["c", "a", "t"]


def test_round_trip() -> None:
    vocabulary = Vocabulary("cat")
    assert vocabulary.decode(vocabulary.encode("tacca", bos=True, eos=True)) == list("tacca")


def test_unknown_token_is_named_with_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"'x' is not in the vocabulary of 6: c a t"):
        Vocabulary("cat").encode("cxt")


@pytest.mark.parametrize("token_id", [-1, 6])
def test_an_id_outside_is_named(token_id: int) -> None:
    with pytest.raises(ValueError, match=rf"0\.\.5, got {token_id}"):
        Vocabulary("cat").decode([3, token_id])


@pytest.mark.parametrize(("tokens", "twice"), [("cac", "c"), (["a", "<eos>"], "<eos>")])
def test_a_token_that_comes_twice_is_named(tokens: list[str], twice: str) -> None:
    with pytest.raises(ValueError, match=rf"twice: \['{twice}'\]"):
        Vocabulary(tokens)
