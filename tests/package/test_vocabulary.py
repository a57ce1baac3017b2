"""Vocabulary: tokens to ids and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from transformer_ref import Vocabulary


def test_specials_come_first() -> None:
    vocabulary = Vocabulary("cat")
    assert vocabulary.tokens == ("<pad>", "<bos>", "<eos>", "c", "a", "t")
    assert vocabulary.specials == ("<pad>", "<bos>", "<eos>")
    assert (vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id) == (0, 1, 2)
    assert vocabulary.unk_id is None
    assert len(vocabulary) == 6


def test_further_specials_follow() -> None:
    vocabulary = Vocabulary("cat", specials=["<sep>", "<unk>"])
    assert vocabulary.tokens == ("<pad>", "<bos>", "<eos>", "<sep>", "<unk>", "c", "a", "t")
    assert vocabulary.specials == ("<pad>", "<bos>", "<eos>", "<sep>", "<unk>")
    assert vocabulary.unk_id == 4


def test_encode() -> None:
    vocabulary = Vocabulary(["AE1", "K", "T"])
    assert vocabulary.encode(["K", "AE1", "T"]) == [4, 3, 5]
    assert vocabulary.encode(["K"], bos=True) == [1, 4]
    assert vocabulary.encode(["K"], eos=True) == [4, 2]
    assert vocabulary.encode([], bos=True, eos=True) == [1, 2]


def test_encode_with_an_unknown_token() -> None:
    vocabulary = Vocabulary("cat", specials=["<unk>", "<sep>"])
    assert vocabulary.encode("cxat", bos=True, eos=True) == [1, 5, 3, 6, 7, 2]
    assert vocabulary.encode(["<unk>", "<sep>", "<pad>"]) == [3, 4, 0]


@pytest.mark.parametrize("make", [list, iter, np.array, torch.tensor])
def test_decode_stops_at_the_end_and_drops_specials(make: Any) -> None:
    vocabulary = Vocabulary("cat")
    assert vocabulary.decode(make([1, 3, 0, 4, 5, 2, 3, 3])) == ["c", "a", "t"]


def test_decode_keeps_the_unknown_token() -> None:
    vocabulary = Vocabulary("cat", specials=["<unk>", "<sep>"])
    assert vocabulary.decode([1, 5, 3, 4, 7, 2, 3]) == ["c", "<unk>", "t"]


def test_round_trip() -> None:
    vocabulary = Vocabulary("cat")
    assert vocabulary.decode(vocabulary.encode("tacca", bos=True, eos=True)) == list("tacca")


def test_messages_do_not_grow_with_the_vocabulary() -> None:
    tokens = [str(number) for number in range(10_000)]
    with pytest.raises(ValueError, match=r"the vocabulary of 10003: 0 1 2 .* \.\.\.$") as unknown:
        Vocabulary(tokens).encode(["x"])
    with pytest.raises(ValueError, match=r"got twice: \['0', '1', .*, \.\.\.\]$") as twice:
        Vocabulary(tokens * 2)
    assert max(len(str(error.value)) for error in (unknown, twice)) < 300


def test_unknown_token_is_named_with_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"'x' is not in the vocabulary of 6: c a t$"):
        Vocabulary("cat").encode("cxty")
    with pytest.raises(ValueError, match=r"'x' is not in the vocabulary of 7: c a t$"):
        Vocabulary("cat", specials=["<sep>"]).encode("x")
    with pytest.raises(ValueError, match=r"'x' is not in the vocabulary of 4: <unk>$"):
        Vocabulary(["<unk>"]).encode("x")  # no special here
