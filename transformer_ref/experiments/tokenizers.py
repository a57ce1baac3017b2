"""What the chapter on tokenizers does by hand, and what it measures on the addresses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod

from transformer_ref.data import load_addresses
from transformer_ref.tokenizers import (
    BPETokenizer,
    CharTokenizer,
    Merge,
    Tokenizer,
    WordTokenizer,
    learn_merges,
)

# A text whose words are numbered by hand, and one that has a word more.
SENTENCES = "the cat saw the dog. the dog ran."
NEW_SENTENCE = "the bird saw the cat."
# Words with their counts, from which merges are learned by hand, and a word that is not among them.
WORD_COUNTS = {"new": 2, "old": 2, "newer": 4, "older": 3, "colder": 1}
NUM_MERGES = 7
NEW_WORD = "bolder"
# A text that three tokenizers cut, and one that the pattern of GPT-2 cuts.
TEXT = "for the Internet."
PRICE = "don't pay $12,345  in 1990"
# From the code that was published with Radford et al. 2019.
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Some tokens of a unigram model, with probabilities that are chosen by hand.
PROBABILITIES = {
    "o": 0.01, "l": 0.01, "d": 0.02, "e": 0.03, "r": 0.02,
    "ol": 0.004, "er": 0.05, "old": 0.02, "der": 0.01, "older": 0.0005,
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One merge of those by hand.

    Attributes:
        pair: what is joined.
        count: how often the pair stood in the words.
        words: the symbols of each word after the merge.
    """

    pair: Merge
    count: int
    words: dict[str, list[str]]


def pair_counts(
    cuts: Mapping[str, Sequence[str]], word_counts: Mapping[str, int]
) -> Counter[Merge]:
    """Count pairs of neighbours.

    Args:
        cuts: the symbols of each word.
        word_counts: how often each word comes.

    Returns:
        How often each pair comes in all words together.
    """
    counts: Counter[Merge] = Counter()
    for word, symbols in cuts.items():
        for pair in pairwise(symbols):
            counts[pair] += word_counts[word]
    return counts


def merges_by_hand() -> list[Step]:
    """Return the merges that the package learns from ``WORD_COUNTS``, one after another."""
    merges = learn_merges(WORD_COUNTS, NUM_MERGES)
    cuts = {word: list(word) for word in WORD_COUNTS}
    steps = []
    for number, pair in enumerate(merges, start=1):
        count = pair_counts(cuts, WORD_COUNTS)[pair]
        tokenizer = BPETokenizer(merges[:number])
        cuts = {word: tokenizer.tokenize(word) for word in WORD_COUNTS}
        steps.append(Step(pair, count, cuts))
    return steps


def encoding_by_hand(word: str = NEW_WORD) -> list[list[str]]:
    """Return the symbols of a word before the first and after each of the merges by hand."""
    merges = learn_merges(WORD_COUNTS, NUM_MERGES)
    return [BPETokenizer(merges[:number]).tokenize(word) for number in range(len(merges) + 1)]


def wordpiece_scores() -> dict[Merge, tuple[int, int, int, float]]:
    """Return for each pair of letters in ``WORD_COUNTS`` what WordPiece compares.

    Letters that do not begin a word have "##" before them.

    Returns:
        How often the pair comes, its first symbol, and its second one; and the score, the first
        divided by the product of the others.

    Source: Schuster and Nakajima 2012, in the form of Hugging Face's course.
    """
    cuts = {word: [word[0], *(f"##{letter}" for letter in word[1:])] for word in WORD_COUNTS}
    single: Counter[str] = Counter()
    for word, symbols in cuts.items():
        for symbol in symbols:
            single[symbol] += WORD_COUNTS[word]
    return {
        (one, other): (count, single[one], single[other], count / (single[one] * single[other]))
        for (one, other), count in pair_counts(cuts, WORD_COUNTS).items()
    }


def all_cuts(
    word: str, probabilities: Mapping[str, float] = PROBABILITIES
) -> dict[tuple[str, ...], float]:
    """Return every way to cut a word into tokens, with its probability, the best one first.

    Args:
        word: its cuts are 2 ** (length - 1) at most, and all of them are tried.
        probabilities: of the tokens.
    """
    found = [tuple(cut) for cut in _cuts(word) if all(token in probabilities for token in cut)]
    chances = {cut: prod(probabilities[token] for token in cut) for cut in found}
    return dict(sorted(chances.items(), key=lambda item: -item[1]))


def _cuts(word: str) -> Iterable[list[str]]:
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        for rest in _cuts(word[end:]):
            yield [word[:end], *rest]


@cache
def addresses() -> tuple[list[str], list[str]]:
    """Return the addresses before 1991, to train on, and those from then on, held out."""
    texts = load_addresses()
    return (
        [text.text for text in texts if text.year < 1991],
        [text.text for text in texts if text.year >= 1991],
    )


@cache
def train_three() -> tuple[WordTokenizer, CharTokenizer, BPETokenizer]:
    """Return tokenizers of the three kinds, trained on the addresses before 1991."""
    train, _ = addresses()
    pieces = BPETokenizer.train(train, vocab_size=4096)
    return WordTokenizer.train(train), CharTokenizer.train(train), pieces


def length_and_unknown(tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[int, float]:
    """Return how many tokens texts have, and what share of them is unknown."""
    ids = [token_id for text in texts for token_id in tokenizer.encode(text)]
    return len(ids), ids.count(tokenizer.unk_id) / len(ids)


def lengths_and_unknown(
    train: Sequence[str], held_out: Sequence[str], sizes: Sequence[int]
) -> dict[str, list[tuple[int, float]]]:
    """Measure words and byte pairs with vocabularies of several sizes.

    Args:
        train: texts to learn from.
        held_out: texts to cut.
        sizes: of the vocabularies.

    Returns:
        For "words" and "byte pairs" what :func:`length_and_unknown` says, size by size.
    """
    largest = max(sizes)
    words = WordTokenizer.train(train, vocab_size=largest)
    by_count = words.vocabulary.tokens[len(words.vocabulary.specials) :]
    pairs = BPETokenizer.train(train, vocab_size=largest)
    taken = len(pairs) - len(pairs.merges)  # specials and bytes
    specials = len(words.vocabulary.specials)
    return {
        "words": [
            length_and_unknown(WordTokenizer(by_count[: size - specials]), held_out)
            for size in sizes
        ],
        "byte pairs": [
            length_and_unknown(BPETokenizer(pairs.merges[: size - taken]), held_out)
            for size in sizes
        ],
    }


ENDINGS = ("ness", "less", "able", "ments", "ing", "ers", "ful", "ed", "er", "ly", "s")


def cuts_at_endings(
    tokenizer: BPETokenizer, new: Iterable[str], known: Collection[str]
) -> dict[str, list[list[str]]]:
    """Sort new words that are a known word and an ending by where they are cut.

    Args:
        tokenizer: cuts each word with a space before it.
        new: words.
        known: words of which one with at least four letters must come before the ending.

    Returns:
        The tokens of the words with a cut "at the ending", of those with a cut "after a shorter
        word" that is known, and of the others, "elsewhere".
    """
    cuts: dict[str, list[list[str]]] = {}
    for kind in ("at the ending", "after a shorter word", "elsewhere"):
        cuts[kind] = []
    for word in new:
        stems = [word.removesuffix(ending) for ending in ENDINGS if word.endswith(ending)]
        stem = next((stem for stem in stems if len(stem) > 3 and stem in known), None)
        if stem is None:
            continue
        tokens = tokenizer.tokenize(f" {word}")
        places = {sum(map(len, tokens[:i])) - 1 for i in range(1, len(tokens))}
        shorter = {end for end in range(4, len(word)) if word[:end] in known}
        kind = "after a shorter word" if places & shorter else "elsewhere"
        cuts["at the ending" if len(stem) in places else kind].append(tokens)
    return cuts


def longest_first(word: str, vocabulary: Collection[str]) -> list[str]:
    """Cut a word from the left, always with the longest token that fits.

    Args:
        word: written as the tokens are.
        vocabulary: tokens, every character of the word among them.
    """
    cut = []
    while word:
        end = next(end for end in range(len(word), 0, -1) if word[:end] in vocabulary)
        cut.append(word[:end])
        word = word[end:]
    return cut


def replace_merges(word_counts: Mapping[str, int], num_merges: int) -> tuple[list[Merge], set[str]]:
    """Learn merges as many tutorials do, with ``str.replace`` on words with spaces in them.

    Args:
        word_counts: how often each word comes.
        num_merges: how many merges.

    Returns:
        The merges, and the symbols of several letters that stand in the words at the end.
    """
    spelled = Counter({" ".join(word): count for word, count in word_counts.items()})
    merges: list[Merge] = []
    for _ in range(num_merges):
        pairs = pair_counts({word: word.split() for word in spelled}, spelled)
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        replaced: Counter[str] = Counter()
        for word, count in spelled.items():
            replaced[word.replace(" ".join(best), "".join(best))] += count
        spelled = replaced
    return merges, {symbol for word in spelled for symbol in word.split() if len(symbol) > 1}
