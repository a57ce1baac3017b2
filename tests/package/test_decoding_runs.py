"""The examples by hand of the chapter on decoding, and what its moving figure is told."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from transformer_ref.decoding import beam_search
from transformer_ref.experiments import decoding
from transformer_ref.g2p import load_g2p
from transformer_ref.metrics import corpus_bleu


def sentences(beginning: tuple[str, ...], probability: float) -> dict[tuple[str, ...], float]:
    """Walk through the whole table: every sentence of at most six tokens, and its probability."""
    if beginning and beginning[-1] == decoding.EOS:
        return {beginning: probability}
    if len(beginning) == 6:
        return {}
    last = beginning[-1] if beginning else decoding.BOS
    return {
        sentence: total
        for token, share in decoding.FOLLOWS[last].items()
        for sentence, total in sentences((*beginning, token), probability * share).items()
    }


def test_the_table_holds_probabilities() -> None:
    for follows in decoding.FOLLOWS.values():
        assert sum(follows.values()) == pytest.approx(1)


def test_two_hypotheses_find_the_likeliest_sentence_and_one_does_not() -> None:
    every = sentences((), 1.0)
    likeliest = max(every, key=lambda sentence: every[sentence])
    for beam_size, found in ((1, "I have a cat <eos>"), (2, "I own a cat <eos>")):
        best = decoding.beam_by_hand(beam_size)[-1].kept[0]
        assert " ".join(best.tokens) == found
        assert best.probability == pytest.approx(every[best.tokens])
    assert best.tokens == likeliest


def test_a_length_of_one_prefers_the_longer_sentence() -> None:
    every = sentences((), 1.0)
    by_mean = max(every, key=lambda sentence: math.log(every[sentence]) / len(sentence))
    assert " ".join(by_mean) == "I have got a cat <eos>"


def test_what_is_cut_off_is_what_the_rules_say() -> None:
    cut = decoding.cut_by_hand()
    kept = {case: sum(share > 0 for share in shares) for case, shares in cut.items()}
    assert kept == {
        ("open", "top-k"): 2, ("open", "top-p"): 3, ("sure", "top-k"): 2, ("sure", "top-p"): 1,
    }  # fmt: skip
    assert cut["open", "top-p"][0] == pytest.approx(0.4 / 0.9)


def test_the_table_of_edits_ends_with_two() -> None:
    assert decoding.edits_by_hand() == [
        [0, 1, 2, 3, 4],
        [1, 0, 1, 2, 3],
        [2, 1, 1, 2, 3],
        [3, 2, 2, 2, 2],
    ]


def test_the_counted_sequences_give_the_bleu_of_sacrebleu() -> None:
    shares = [sum(row) / len(row) for row in decoding.clipped_by_hand()]
    score = corpus_bleu([" ".join(decoding.HYPOTHESIS)], [" ".join(decoding.REFERENCE)]).score
    assert 100 * math.prod(shares) ** 0.25 == pytest.approx(score)


def test_what_a_search_is_told_adds_up_to_its_scores() -> None:
    speller = load_g2p(torch.device("cpu"))
    bos_id, eos_id = speller.phonemes.bos_id, speller.phonemes.eos_id
    heard = decoding.listen(speller, "attach", beam_size=2)
    ids, scores = beam_search(speller.model, speller.source(["attach"]), bos_id, eos_id, 2, 20)
    answer = speller.phonemes.decode(ids[0, 0].tolist())
    total = 0.0
    for count, token in enumerate([*answer, "<eos>"]):
        following = heard[" ".join(answer[:count])]["next"]
        total += dict(map(tuple, following))[token]
    assert total == pytest.approx(scores[0, 0].item(), abs=1e-3)
    for told in heard.values():
        assert sum(told["look"]) == pytest.approx(1, abs=5e-3)
        assert len(told["look"]) == len("attach")


def test_the_counted_work_is_what_the_formulas_say() -> None:
    speller = load_g2p(torch.device("cpu"))
    attention: Any = speller.model.decoder.layers[0].self_attention
    steps = len(speller.pronounce("attach")) + 1  # the end token is said, too
    up_to = range(1, steps + 1)
    whole = decoding.work_by_step(speller, "attach", use_cache=False)
    assert whole == {"vectors": [2 * t for t in up_to], "products": [t * t for t in up_to]}
    cached = decoding.work_by_step(speller, "attach", use_cache=True)
    assert cached == {"vectors": [2] * steps, "products": list(up_to)}
    assert attention.keep_weights is None
