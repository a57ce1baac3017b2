"""What the chapter on masking does by hand and measures, against other ways to the same."""

from __future__ import annotations

import itertools

import pytest
import torch

from transformer_ref.applications.g2p import Speller, load_g2p
from transformer_ref.attention import record_attention
from transformer_ref.experiments import masking
from transformer_ref.masks import padding_mask


@pytest.fixture(scope="module")
def speller() -> Speller:
    return load_g2p(torch.device("cpu"))


def test_the_mean_by_hand_is_the_running_mean() -> None:
    step = masking.mean_by_hand()
    counts = torch.arange(1.0, 4.0)[:, None]
    torch.testing.assert_close(step["output"], step["values"].cumsum(dim=0) / counts)


def test_the_masks_by_hand_hold_cell_by_cell() -> None:
    both = masking.masks_by_hand()["both"]
    for word, query, key in itertools.product(range(3), range(4), range(4)):
        real = masking.INPUTS[word][key] != "pad"
        assert both[word, 0, query, key] == (real and key <= query)


def test_the_row_that_may_see_nothing_ends_as_zeros() -> None:
    step = masking.empty_row_by_hand()
    torch.testing.assert_close(step["softmax"][1], torch.full((3,), 1 / 3))
    assert step["weights"][1].tolist() == [0, 0, 0]
    exponentials = step["scores"][0, :2].exp()
    torch.testing.assert_close(step["weights"][0, :2], exponentials / exponentials.sum())


def test_written_with_the_right_masks_it_is_what_the_speller_says(speller: Speller) -> None:
    words = ["through", "sea", "oh"]
    source = speller.source(words)
    visible = padding_mask(source, pad_id=0)
    written = masking.write_out(speller, source, visible, visible)
    assert written == [speller.pronounce(word) for word in words]


def test_without_the_causal_mask_a_later_phoneme_changes_what_comes_before(
    speller: Speller,
) -> None:
    letters, target = (rows[:4] for rows in masking.padded(masking.short_words("dev")))
    inputs = target[:, :-1]
    changed = inputs.clone()
    changed[:, 2] = inputs[:, 2].roll(1) + 1
    for causal in (True, False):
        one, other = (
            masking.predict(speller.model, letters, ids, causal)[:, :2] for ids in (inputs, changed)
        )
        assert torch.allclose(one, other, atol=1e-4) == causal


@pytest.mark.weekly
def test_a_model_is_trained_and_measured(speller: Speller) -> None:
    small, losses = masking.train_small(speller, causal=True, steps=20)
    assert losses[1] < losses[0]
    found = masking.measure(speller, small, causal=True)
    assert len(found.written) == len(masking.short_words("dev"))
    assert 0 <= found.words_right <= found.next_right <= 1


@torch.inference_mode()
def test_the_first_scores_are_those_of_the_weights_that_the_model_records(
    speller: Speller,
) -> None:
    words = ["through", "sea", "oh"]
    ids = masking.in_a_batch(speller, {word: masking.SWITCHED[word] for word in words}, 4)
    memory = speller.model.encode(speller.source(words))
    with record_attention(speller.model.decoder) as maps:
        speller.model.decode(ids, memory, masking.see_all(4))
    scores = masking.first_scores(speller, ids)
    torch.testing.assert_close(scores.softmax(dim=-1), maps["layers.0.self_attention"])


def test_what_the_figures_move_is_what_the_masks_are(speller: Speller) -> None:
    data = masking.masks_to_move(speller)
    assert [word["tokens"] for word in data["words"][:3]] == [list(i) for i in masking.INPUTS]
    assert data["words"][3]["tokens"] == ["pad", "bos", "S", "IY"]
    for task in data["tasks"]:
        for query, key in itertools.product(range(5), repeat=2):
            assert task["causal"][query][key] == (key <= query)
            seen = task["tokens"][key] != "pad" and key <= query
            assert task["right"][query][key] == seen
