"""Batches: every example once, like lengths together, never more than was allowed."""

import itertools
import random

import pytest
import torch

from transformer_ref.batching import bucketed_batches, pad_batch, token_batches


def unequal_examples(count=1000):
    """Examples of very different lengths, each target about as long as its source."""
    rng = random.Random(0)
    lengths = [rng.randint(1, 60) for _ in range(count)]
    return [([1] * length, [1] * (length + rng.randint(1, 4))) for length in lengths]


def padded_size(examples, batch):
    return len(batch) * (
        max(len(examples[i][0]) for i in batch) + max(len(examples[i][1]) for i in batch)
    )


def test_pad_batch_fills_at_the_end():
    batch = pad_batch([[1, 2, 3], [4]], pad_id=9)
    assert batch.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert batch.dtype == torch.int64


@pytest.mark.parametrize(("deal", "size"), [(bucketed_batches, 16), (token_batches, 1500)])
def test_every_example_comes_once_in_an_order_that_the_seed_decides(deal, size):
    examples = unequal_examples()
    batches = deal(examples, size, 3)
    assert sorted(index for batch in batches for index in batch) == list(range(1000))
    assert batches == deal(examples, size, 3)
    assert batches != deal(examples, size, 4)
    assert {frozenset(batch) for batch in batches} != {
        frozenset(b) for b in deal(examples, size, 4)
    }
    # Short batches do not all come first: training would forget what it saw last least.
    lengths = [len(examples[batch[0]][0]) for batch in batches]
    assert lengths != sorted(lengths)


@pytest.mark.parametrize(("deal", "size"), [(bucketed_batches, 16), (token_batches, 1000)])
def test_similar_lengths_share_a_batch(deal, size):
    examples = unequal_examples(4000)
    real = sum(len(source) + len(target) for source, target in examples)

    def waste(pool):
        batches = deal(examples, size, 0, pool=pool)
        return 1 - real / sum(padded_size(examples, batch) for batch in batches)

    assert waste(pool=100) < 0.05
    assert waste(pool=100) < waste(pool=10) < waste(pool=1)
    assert deal(examples, size, 0) == deal(examples, size, 0, pool=100)


def test_bucketed_batches_have_the_size_asked_for():
    sizes = [len(batch) for batch in bucketed_batches(unequal_examples(50), 8, 0)]
    assert sorted(sizes) == [2, *[8] * 6]
    # The remainder of each pool of 2 batches would be smaller too; there is none but the last.
    sizes = [len(batch) for batch in bucketed_batches(unequal_examples(50), 8, 0, pool=2)]
    assert sorted(sizes) == [2, *[8] * 6]


def test_bucketed_batches_are_sorted_by_source_then_target():
    examples = unequal_examples()
    for batch in bucketed_batches(examples, 16, 0):
        lengths = [(len(examples[i][0]), len(examples[i][1])) for i in batch]
        assert lengths == sorted(lengths)


@pytest.mark.parametrize("batch_tokens", [130, 500, 4000])
def test_token_batches_are_as_full_as_they_can_be(batch_tokens):
    examples = unequal_examples()
    batches = token_batches(examples, batch_tokens, 0, pool=10_000)  # all examples in one pool

    def lengths(index):
        return len(examples[index][0]), len(examples[index][1])

    # Back into the order of the cut; of batches with one length only, the last is not full.
    batches.sort(key=lambda batch: (lengths(batch[0]), lengths(batch[-1]), -len(batch)))
    assert all(padded_size(examples, batch) <= batch_tokens for batch in batches)
    for batch, following in itertools.pairwise(batches):
        assert lengths(batch[-1]) <= lengths(following[0])
        assert padded_size(examples, [*batch, following[0]]) > batch_tokens


@pytest.mark.parametrize(
    ("batch_tokens", "expected"),
    [
        (14, [[0], [1, 2], [3]]),
        (18, [[0, 3], [1, 2]]),  # 2 rows * (longest source 4 + longest target 5), exactly
        (20, [[0, 3], [1, 2]]),
        (21, [[0], [1, 2, 3]]),  # the next batch starts with its own lengths only
        (35, [[0], [1, 2, 3]]),
        (36, [[0, 1, 2, 3]]),
    ],
)
def test_token_batches_by_hand(batch_tokens, expected):
    examples = [([1] * s, [1] * t) for s, t in [(4, 2), (2, 2), (1, 2), (2, 5)]]
    batches = token_batches(examples, batch_tokens, 0)
    assert sorted(map(sorted, batches)) == expected


@pytest.mark.parametrize("pool", [1, 2, 7])
def test_small_pools_lose_no_example(pool):
    examples = unequal_examples(101)
    for batches in (
        bucketed_batches(examples, 4, 0, pool=pool),
        token_batches(examples, 200, 0, pool=pool),
    ):
        assert sorted(index for batch in batches for index in batch) == list(range(101))
        assert all(batches)


ONE = ([1], [1])


def test_an_example_larger_than_a_batch_is_named():
    larger = ([1] * 4, [1] * 6)
    message = r"batch_tokens must hold the longest example, got 9, but examples\[1\] has 10 tokens"
    with pytest.raises(ValueError, match=message):
        token_batches([ONE, larger], 9, 0)
    assert sorted(token_batches([ONE, larger], 10, 0)) == [[0], [1]]
