"""Checks of the assignment "tokenizers": right answers, cases, properties, tasks.

Here words are pieces of text and merges join characters, so that every step can be followed by
hand. The package's own tokenizer does the same on bytes, and faster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from transformer_ref.checks import tokenizers_mistakes as mistakes
from transformer_ref.checks.cases import UNSTEADY, followed, numbered, plain_case
from transformer_ref.checks.task import Case, Task

Pair = tuple[str, str]
Word = tuple[str, ...]

# --- right answers ---------------------------------------------------------------------------


def word_tokenize(text: str) -> list[str]:
    """Cut a text into runs of letters and digits, and single other characters.

    Args:
        text: any text.

    Returns:
        the tokens in their order, white space left out.
    """
    return re.findall(r"\w+|[^\w\s]", text)


def build_vocab(tokens: Sequence[str], min_freq: int, specials: Sequence[str]) -> dict[str, int]:
    """Number the special tokens, then the tokens that are frequent enough.

    Args:
        tokens: of a text, repetitions included.
        min_freq: the least frequency that is enough.
        specials: come first, in this order.

    Returns:
        ids from 0 by token; frequent tokens first, ties in alphabetical order.
    """
    counts = Counter(tokens)
    words = [
        token for token, count in counts.items() if count >= min_freq and token not in specials
    ]
    words.sort(key=lambda token: (-counts[token], token))
    return {token: number for number, token in enumerate([*specials, *words])}


def encode_tokens(tokens: Sequence[str], vocab: Mapping[str, int], unk: str) -> list[int]:
    """Look tokens up.

    Args:
        tokens: any strings.
        vocab: ids by token.
        unk: the token whose id unknown tokens get.

    Returns:
        one id for each token.
    """
    return [vocab.get(token, vocab[unk]) for token in tokens]


def count_pairs(words: Mapping[Word, int]) -> dict[Pair, int]:
    """Count the pairs of neighbours in words.

    Args:
        words: how often each word comes; a word is a tuple of symbols.

    Returns:
        how often each pair comes, overlaps included.
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return dict(counts)


def merge_pair(word: Word, pair: Pair) -> Word:
    """Join a pair wherever it stands in a word, from the left and without overlap.

    Args:
        word: symbols.
        pair: two symbols.

    Returns:
        the symbols after the merge.
    """
    word, pair = tuple(word), (pair[0], pair[1])
    merged = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append("".join(pair))
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)


def train_bpe(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    """Learn merges: again and again the most frequent pair.

    Args:
        word_counts: how often each word comes.
        num_merges: how many merges; fewer where no pair is left.

    Returns:
        the pairs in the order in which they were merged; of equally frequent ones the greatest.
    """
    words: dict[Word, int] = {tuple(word): count for word, count in word_counts.items()}
    merges: list[Pair] = []
    while len(merges) < num_merges and (counts := count_pairs(words)):
        best = max(counts, key=lambda pair: (counts[pair], pair))
        words = {merge_pair(word, best): count for word, count in words.items()}
        merges.append(best)
    return merges


def bpe_encode(word: str, merges: Iterable[Pair]) -> list[str]:
    """Cut a word into pieces by merges, the one learned first first.

    Args:
        word: any characters.
        merges: as from :func:`train_bpe`.

    Returns:
        the pieces, which spell the word.
    """
    symbols: Word = tuple(word)
    for pair in merges:
        symbols = merge_pair(symbols, pair)
    return list(symbols)


def merge_words(words: Mapping[str, int], pair: Pair) -> dict[str, int]:
    """Join a pair in words that are written with a space between their symbols.

    Args:
        words: how often each word comes.
        pair: two symbols.

    Returns:
        the same counts, by the words after the merge.
    """
    return {
        " ".join(merge_pair(tuple(word.split(" ")), pair)): count for word, count in words.items()
    }


# --- words and symbols -----------------------------------------------------------------------

_PLAIN = (
    "bank bird black bread bridge child cloud coat corn door dream dust earth field fish floor "
    "frost glass gold grain grass green hand horse house island king lake lamp leaf light low "
    "lower lowest market milk moon mountain new newer newest night north old older oldest paper "
    "queen rain river road rock salt sea ship silver small smaller stone storm street sun table "
    "thunder tower town tree valley water wide wider widest wind window winter wood world year"
)
_FOREIGN = "café naïve Straße über garçon señor Москва река 東京 水 ñandú fjörður œuvre Ωμέγα"
PLAIN, FOREIGN = _PLAIN.split(), _FOREIGN.split()
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>", "<mask>", "<sep>")


class Draw:
    """Draws words, numbers and symbols.

    Args:
        rng: the source.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def number(self, low: int, high: int) -> int:
        """Draw an integer from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def some(self, entries: Sequence[Any], count: int) -> list[Any]:
        """Draw `count` different entries, in a random order."""
        return [entries[place] for place in self.rng.permutation(len(entries))[:count]]

    def words(self, count: int) -> list[str]:
        """Draw different plain words."""
        return self.some(PLAIN, count)

    def letters(self, count: int) -> list[str]:
        """Draw different small letters."""
        return self.some("abcdefghijklmnopqrstuvwxyz", count)

    def shuffled(self, counts: Mapping[str, int]) -> list[str]:
        """Return tokens, each as often as its count says, in a random order."""
        tokens = [token for token, count in counts.items() for _ in range(count)]
        return self.some(tokens, len(tokens))

    def row(self, symbols: Sequence[str], length: int) -> Word:
        """Draw symbols with repetitions."""
        return tuple(symbols[number] for number in self.rng.integers(len(symbols), size=length))


def _asked_again(cases: list[Case], number: int) -> list[Case]:
    followed(cases, cases[number], {}, "asked again", UNSTEADY)
    return numbered(cases)


# --- cases -----------------------------------------------------------------------------------


def word_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of word_tokenize, from two words to what people write."""
    draw = Draw(rng)
    a, b, c, d, e, f = draw.words(6)
    n, m, k = (draw.number(2, 99) for _ in range(3))
    é, ß, я = draw.some(FOREIGN, 3)
    mark, other = draw.some("!?;:,", 2)
    texts = [
        f"{a} {b} {c}",
        f"{a.title()}, {b} {c}.",
        f"{a}{mark}{b}",
        f"{a}'s {b}-{c}",
        f"{a}... {b}{mark}{other}",
        f'({a}) "{b}": {c}{mark}',
        f"{a}{n} {m}{b} {n}{m}",
        f"{n}.{m} {a}: {k}%",
        f"{a.upper()} {b.title()} {c}",
        f"  {a}\t{b}\n{c}  {d}\n",
        f"{a}\u00a0{b}\u2003{mark} {c}",
        f"{é} {ß}, {a} {я}",
        f"“{a}” — {b}… {c}€",
        f"{a} 🙂🙂 {b}",
        f"{a} {b}, {a} {b}{other} {a}",
        "",
        f"{mark}{other}{mark}",
        f"{e}",
        f'"{a.title()} {b}", {c} {d}-{e} {f}\'t: {n},{m} {é}{mark}\n\n{b.title()}\t{k}{other} {f}',
    ]
    return _asked_again([plain_case(text=text) for text in texts], 5)


def vocab_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of build_vocab: ties, limits, and special tokens that stand in the text."""
    draw = Draw(rng)

    def case(
        counts: Sequence[int],
        min_freq: int,
        specials: Sequence[str],
        names: Sequence[str] = (),
        more: Mapping[str, int] | None = None,
    ) -> Case:
        words = names or draw.words(len(counts))
        text = dict(zip(words, counts, strict=True)) | dict(more or {})
        return plain_case(tokens=draw.shuffled(text), min_freq=min_freq, specials=list(specials))

    def specials(count: int) -> list[str]:
        return draw.some(SPECIALS, count)

    one, two = draw.words(2)
    cased = [one, one.title(), one.upper(), two, two.title()]
    few, many = specials(2), specials(4)
    return _asked_again(
        [
            case((3, 2, 1), 1, ()),
            case((2, 2, 2, 2, 2), 1, ()),
            case((4, 3, 3, 2, 2, 1, 1), 2, ("<pad>", "<unk>")),
            case((1, 1, 1, 1, 1, 1), 1, specials(1)),
            case((5, 4, 3, 3, 3, 2, 2, 1), 3, many),
            case((3, 3, 2, 2, 2, 1, 1, 1), 2, ("<unk>", "<pad>", "<bos>")),
            case((2, 2, 2, 2, 2), 2, specials(2), cased),
            case((4, 3, 2, 2, 1), 1, few, more={few[1]: 3}),
            case((4, 4, 3, 1, 1), 2, many, more={many[0]: 1, many[2]: 5}),
            case((3, 3, 2, 2, 2), 1, specials(2), [",", ".", "7", "12", "a"]),
            case((3, 2, 2, 1), 4, specials(3)),
            case((), 1, specials(2)),
            case((6, 5, 5, 4, 4, 4, 3, 3, 2, 2, 1, 1), 3, ()),
            case((6, 5, 5, 4, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1), 2, specials(3)),
        ],
        3,
    )


def encode_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of encode_tokens; the entries of a vocabulary are not in the order of their ids."""
    draw = Draw(rng)

    def case(size: int, pattern: str, unk: str = "<unk>", place: int | None = None) -> Case:
        """Make a case.

        Args:
            size: of the vocabulary.
            pattern: of the tokens: "k" known, "z" the one with id 0, "n" not known, "c" known but
                for its capital, "r" the first token again, "u" the unknown token itself.
            unk: the unknown token.
            place: its id; None draws one between the first and the last.

        Returns:
            the case.
        """
        names = draw.words(size - 1 + pattern.count("n"))
        known, strange = names[: size - 1], names[size - 1 :]
        place = draw.number(4, size - 3) if place is None else place
        entries = [*known[:place], unk, *known[place:]]
        others = [each for each in known if each != entries[0]]
        tokens: list[str] = []
        for sign in pattern:
            token = {
                "k": lambda: draw.some(others, 1)[0],
                "z": lambda: entries[0],
                "n": strange.pop if strange else str,
                "c": lambda: draw.some(others, 1)[0].title(),
                "r": lambda: tokens[0],
                "u": lambda: unk,
            }[sign]()
            tokens.append(token)
        order = draw.some(range(size), size)
        return plain_case(
            tokens=tokens, vocab={entries[number]: number for number in order}, unk=unk
        )

    return _asked_again(
        [
            case(8, "kknk"),
            case(9, "zkknk"),
            case(8, "kkkk"),
            case(10, "knkrk"),
            case(9, "nnn"),
            case(8, "kckk"),
            case(12, "kknkr", "[UNK]"),
            case(9, "kukn"),
            case(8, "zkkn", place=7),
            case(8, "knkn", place=0),
            case(9, "kkn", "?"),
            case(8, ""),
            case(20, "kkzknkrkckkrnkzkku"),
            case(11, "kzkrnzk", "<oov>"),
        ],
        1,
    )


def pair_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of count_pairs."""
    draw = Draw(rng)

    def some_words(number: int, lengths: tuple[int, int]) -> dict[Word, int]:
        x, y, z = draw.letters(3)
        symbols = (x, y, z, x + y, z + x)
        return {draw.row(symbols, draw.number(*lengths)): draw.number(2, 9) for _ in range(number)}

    def count() -> int:
        return draw.number(2, 9)

    w, x, y, z = draw.letters(4)
    return _asked_again(
        [
            plain_case(words=words)
            for words in (
                {(x, y, z): count()},
                {(x, y, z): 3, (w, x, y): count() + 3},
                {(x, y, z, x, y): count(), (z, w): 2},
                {(x, x, x): count()},
                {(x, x, x, x, y): count(), (y, x, x): 4},
                {(x, y): 2, (y, x): count() + 2},
                {(x + y, z): 5, (x, y + z): 3, (x, y, z): count() + 5},
                {(w, x + y, z): count(), (w,): 7, (x + y, z, w, x + y): 2},
                {(x,): 3, (y + z,): 2},
                {},
                some_words(3, (2, 5)),
                some_words(5, (3, 6)),
                some_words(6, (2, 8)),
                some_words(9, (1, 9)),
            )
        ],
        2,
    )


def merge_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of merge_pair."""
    draw = Draw(rng)
    x, y, z = draw.letters(3)
    dot = draw.some(".+*?$^|", 1)[0]
    long = draw.row((x, y, x + y), draw.number(9, 14))
    cases = [
        ((x, y, z), (x, y)),
        ((z, x, y), (x, y)),
        ((x, y, z, z, x, y, z), (x, y)),
        ((x, y, x, y, x, y), (x, y)),
        ((x, x, x), (x, x)),
        ((y, x, x, x, x, x, z), (x, x)),
        ((z, x, x, z, x, x, x), (x, x)),
        ((x, z, y), (x, y)),
        ((y, x, z, x, y, x), (x, y)),
        ((z + x, y, z, x, y + z, x, y), (x, y)),
        ((x + y, z, x, y + z, x + y, z, x, y, z), (x + y, z)),
        ((x,), (x, y)),
        ((z, x, y, z, y, x), (x, y)),
        ((dot, x, y, dot, x), (dot, x)),
        (long, (x, y)),
        ((*draw.row((x, y), draw.number(10, 14)), y, y, y, z), (y, y)),
        ((*draw.row((x, y, z), draw.number(10, 14)), x, y, x), (x, y)),
    ]
    return _asked_again([plain_case(word=word, pair=pair) for word, pair in cases], 2)


def _corpus(draw: Draw, letters: Sequence[str], number: int, lengths: Sequence[int]) -> Any:
    """Draw different words over a few letters, with their counts."""
    low, high = lengths
    words = {"".join(draw.row(letters, draw.number(low, high))) for _ in range(number)}
    return {word: draw.number(1, 6) for word in sorted(words)}


def train_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of train_bpe: real words and such as have many ties and repetitions."""
    draw = Draw(rng)
    x, y, z, w = draw.letters(4)
    low, mid, high = sorted((x, y, z))
    few = dict(zip(draw.words(3), (5, 3, 2), strict=True))
    family = {"low": draw.number(2, 5), "lower": 2, "lowest": draw.number(1, 3), "newest": 4}
    cases: list[tuple[dict[str, int], int]] = [
        ({x + y: 5, y + z + w: 2}, 1),
        (few, 3),
        (family, draw.number(4, 6)),
        ({word: draw.number(1, 3) for word in draw.words(6)}, 8),
        ({x + y + z: 4, z + y + x: 4, w + x: 4}, 4),
        ({x * 5: 3, y + x * 3: 2}, 3),
        ({x * 3: 3, y + z: 5}, 2),
        ({(x + y) * 3: 2, y + z + x: draw.number(3, 5)}, 3),
        ({x + y + z: 2, y + z: 1}, draw.number(6, 9)),
        ({x: 3, y: 2}, 4),
        (dict.fromkeys(draw.words(3), 1), 5),
        (_corpus(draw, (x, y, z), 6, (3, 7)), 6),
        (_corpus(draw, (x, y), 5, (3, 8)), 6),
        (_corpus(draw, (x, y, z, w), 9, (2, 8)), 9),
        ({word: draw.number(1, 20) for word in draw.words(30)}, 15),
        # (ab, a) and (a, c) come equally often: the pairs and the joined texts disagree.
        ({low + mid: 5, low + mid + low: 2, low + high: 2}, 3),
    ]
    return _asked_again(
        [plain_case(word_counts=counts, num_merges=number) for counts, number in cases], 4
    )


def bpe_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of bpe_encode: words that were seen in training, and others."""
    draw = Draw(rng)
    x, y, z, w = draw.letters(4)
    seen = {word: draw.number(1, 9) for word in draw.words(20)}
    real = train_bpe(seen, 25)
    runs = train_bpe({x * 4: 5, y + x * 3: 2}, 3)
    cases = [
        (x + y + w, train_bpe({x + y: 3, y + w: 2, x + y + w: 2}, 2)),
        # By place, by length and by rank give different pieces of these three.
        (x + y + z, train_bpe({x + y + z: 5, y + z: 6, x + y: 2}, 3)),
        (x + y + z + x, train_bpe({y + z: 5, x + y: 3}, 2)),
        (w + x + y + z, train_bpe({x + y: 5, y + z: 3}, 2)),
        (x * 5 + y, runs),
        (y + x * 7, runs),
        (draw.words(1)[0], []),
        (x, train_bpe({x + y: 1}, 1)),
    ]
    for letters, length in (((x, y, z), 8), ((x, y), 9), ((x, y, z), 11), ((x, y, z, w), 12)):
        merges = train_bpe(_corpus(draw, letters, 7, (3, 7)), draw.number(6, 9))
        cases.append(("".join(draw.row(letters, length)), merges))
    merges = train_bpe(_corpus(draw, (x, y, z), 9, (4, 8)), 10)
    cases += [("".join(draw.row((x, y, z, w), length)), merges) for length in (7, 10, 16)]
    cases += [
        (f"é{''.join(draw.row((x, y, z), 6))}!?", merges),
        (draw.some(list(seen), 1)[0], real),
        (draw.words(1)[0], real),
        (f"{draw.words(1)[0]}{draw.words(1)[0]}", real),
        (f"{draw.words(1)[0]}-{draw.number(2, 9)}", real),
    ]
    return _asked_again([plain_case(word=word, merges=merges) for word, merges in cases], 2)


def bug_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of merge_words; in each of them the bug as found shows."""
    draw = Draw(rng)

    def case(pair: Pair, *words: Sequence[str]) -> Case:
        counts = {" ".join(word): draw.number(2, 9) for word in words}
        return plain_case(words=dict(draw.some(list(counts.items()), len(counts))), pair=pair)

    def traps(pair: Pair) -> tuple[Word, ...]:
        """Words in which the text of the pair stands across the borders of longer symbols."""
        first, second = pair
        return (z + first, second, w), (w, first, second + z, z)

    w, x, y, z = draw.letters(4)
    dot, plus = draw.some(".?$", 1)[0], draw.some("+*(", 1)[0]
    pair, twins, longer = (x, y), (x, x), (x + y, z)
    rows = [draw.row((x, y, z, z + x, y + z), draw.number(5, 9)) for _ in range(4)]
    cases = [
        case(pair, (w, x, y), traps(pair)[0]),
        case(pair, (x, y, w), traps(pair)[1]),
        case(pair, *traps(pair), (z, w, x), (y, x, z)),
        case(pair, (x, y, x, y, x, y, z), (w, x, y, x, y), *traps(pair)),
        case(twins, (x, x, x), (z, x, x, x, x, x), (w + x, x, w)),
        case(twins, (w, x, x + w, x, x), (x, x, w, x, x, x)),
        case(longer, (x + y, z, w), (w + x + y, z), (x, y + z, x + y, z)),
        case((dot, x), (dot, x, z), (w, x, dot, x), (dot + dot, x), (y, z, x)),
        case((x, dot), (x, dot), (z + x, dot), (w, x, y, x, dot)),
        case((plus, x), (plus, x, y), (z + plus, x, plus, x)),
        case((x, "'"), (x, "'", y), (z + x, "'", y), (x, "'" + y)),
        case(pair, *rows, *traps(pair)),
        case(pair, *[draw.row((x, y), draw.number(4, 8)) for _ in range(3)], traps(pair)[1]),
        case(pair, *[(*row, x, y) for row in rows], traps(pair)[0], (x,), (y, x)),
    ]
    return _asked_again(cases, 2)


# --- properties ------------------------------------------------------------------------------


def tokens_hold_the_text(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if a token is empty or white space, or characters were lost or changed."""
    for place, token in enumerate(values["tokens"]):
        if not token.strip():
            what = "white space" if token else "an empty string"
            return f"`tokens[{place}]` is {what}, which is no token. Received {values['tokens']!r}"
    wanted = "".join(case.arguments["text"].split())
    spelled = "".join(values["tokens"])
    if spelled != wanted:
        return (
            f"the tokens, put together, spell {spelled!r}; the text without its white space is "
            f"{wanted!r}"
        )
    return None


def ids_count_from_zero(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if the ids are not 0, 1, 2 and so on, each once."""
    ids = sorted(values["vocab"].values())
    if ids != list(range(len(ids))):
        return f"{len(ids)} tokens should have the ids 0 to {len(ids) - 1}, each once, not {ids}"
    return None


def one_id_a_token(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say so if there are not as many ids as tokens."""
    tokens, ids = len(case.arguments["tokens"]), len(values["ids"])
    if tokens != ids:
        return f"{tokens} tokens went in and {ids} ids came out: each token has one id"
    return None


def symbols_spell_the_word(case: Case, values: Mapping[str, Any], name: str) -> str | None:
    """Say so if the symbols, put together, are not the word."""
    spelled, word = "".join(values[name]), "".join(case.arguments["word"])
    if spelled != word:
        return (
            f"the {name}, put together, spell {spelled!r}; the word is {word!r}. "
            f"Received {values[name]!r}"
        )
    return None


def each_merge_is_the_most_frequent(case: Case, values: Mapping[str, Any]) -> str | None:
    """Say what the counts are at the first merge that is not the right one."""
    words = {tuple(word): count for word, count in case.arguments["word_counts"].items()}
    for place, pair in enumerate(values["merges"][: case.arguments["num_merges"]]):
        counts = count_pairs(words)
        if not counts:
            return f"`merges[{place}]` is {pair!r}, but after {place} merges no pair is left"
        best = max(counts, key=lambda each: (counts[each], each))
        if pair != best:
            said = (
                "equally often, and is greater"
                if counts.get(pair) == counts[best]
                else (f"{counts[best]} times, yours {counts.get(pair, 0)} times")
            )
            return f"`merges[{place}]` should be {best!r}, received {pair!r}: it comes {said}"
        words = {merge_pair(word, pair): count for word, count in words.items()}
    return None


# --- tasks -----------------------------------------------------------------------------------

HERE = "transformer_ref.checks.tokenizers"
THERE = "transformer_ref.tokenizers"
UNCHANGED = "The arguments are not changed."

TASKS: tuple[Task, ...] = (
    Task(
        key="tokenizers.word_tokenize",
        stub="word_tokenize(text)",
        contract=(
            "text: a str; returns a list of str, the tokens in their order. A token is a run of "
            "letters and digits (str.isalnum) or one single other character that is not white "
            "space. Case is kept. '_' and combining accents are not tried."
        ),
        kind="function",
        returns=("tokens",),
        form=list[str],
        reference=word_tokenize,
        cases=word_cases,
        properties=(tokens_hold_the_text,),
        forbidden=(f"{HERE}.word_tokenize", f"{THERE}.Tokenizer.tokenize"),
        misconceptions=mistakes.WORDS,
    ),
    Task(
        key="tokenizers.build_vocab",
        stub="build_vocab(tokens, min_freq, specials)",
        contract=(
            "tokens: a list of str; specials: a list of different str; returns a dict from token "
            "to id. The specials come first, in the order given; then the tokens that come at "
            "least min_freq times, by falling frequency, ties alphabetical as sorted() has it. "
            f"Ids count from 0. A special found in the text keeps its id. {UNCHANGED}"
        ),
        kind="function",
        returns=("vocab",),
        form=dict[str, int],
        reference=build_vocab,
        cases=vocab_cases,
        properties=(ids_count_from_zero,),
        forbidden=(
            f"{HERE}.build_vocab",
            f"{THERE}.WordTokenizer.train",
            f"{THERE}.CharTokenizer.train",
        ),
        misconceptions=mistakes.VOCAB,
    ),
    Task(
        key="tokenizers.encode_tokens",
        stub="encode_tokens(tokens, vocab, unk)",
        contract=(
            "tokens: a list of str; vocab: a dict from token to id; unk: a token, a key of vocab; "
            f"returns a list of int: one id a token, that of unk for a token not in vocab. "
            f"{UNCHANGED}"
        ),
        kind="function",
        returns=("ids",),
        form=list[int],
        reference=encode_tokens,
        cases=encode_cases,
        properties=(one_id_a_token,),
        forbidden=(
            f"{HERE}.encode_tokens",
            f"{THERE}.Tokenizer.convert_tokens_to_ids",
            f"{THERE}.Tokenizer.encode",
            "transformer_ref.vocabulary.Vocabulary.encode",
        ),
        misconceptions=mistakes.ENCODE,
    ),
    Task(
        key="tokenizers.count_pairs",
        stub="count_pairs(words)",
        contract=(
            "words: a dict from a word, a tuple of symbols, to how often it comes; returns a dict "
            "(any kind) from each pair of neighbours, a tuple of two symbols, to how often it "
            "comes: weighted by the word's count, overlaps counted ('aaa' has two 'aa'). "
            f"{UNCHANGED}"
        ),
        kind="function",
        returns=("pairs",),
        form=dict[tuple[str, str], int],
        reference=count_pairs,
        cases=pair_cases,
        forbidden=(f"{HERE}.count_pairs",),
        misconceptions=mistakes.COUNT,
    ),
    Task(
        key="tokenizers.merge_pair",
        stub="merge_pair(word, pair)",
        contract=(
            "word: a tuple of at least one symbol; pair: a tuple of two symbols; returns a tuple: "
            "the word with the two joined to one symbol wherever they stand side by side, from "
            "left to right, without overlap."
        ),
        kind="function",
        returns=("symbols",),
        form=tuple[str, ...],
        reference=merge_pair,
        cases=merge_cases,
        properties=(partial(symbols_spell_the_word, name="symbols"),),
        forbidden=(f"{HERE}.merge_pair",),
        misconceptions=mistakes.MERGE,
    ),
    Task(
        key="tokenizers.train_bpe",
        stub="train_bpe(word_counts, num_merges)",
        contract=(
            "word_counts: a dict from word, a str, to how often it comes; returns a list of pairs, "
            "tuples of two symbols, in the order in which they are merged. Words start as their "
            "characters, without a mark for the end. Each step takes the most frequent pair, of "
            "equally frequent ones the lexicographically greatest, and merges it in all words. "
            f"Fewer than num_merges only when no pair is left. {UNCHANGED}"
        ),
        kind="function",
        returns=("merges",),
        form=list[tuple[str, str]],
        reference=train_bpe,
        cases=train_cases,
        properties=(each_merge_is_the_most_frequent,),
        forbidden=(
            f"{HERE}.train_bpe",
            f"{THERE}.learn_merges",
            f"{THERE}.BPETokenizer.train",
        ),
        misconceptions=mistakes.TRAIN,
    ),
    Task(
        key="tokenizers.bpe_encode",
        stub="bpe_encode(word, merges)",
        contract=(
            "word: a str of at least one character; merges: a list of pairs that train_bpe could "
            "have learned; returns a list of str. The word starts as its characters; the merges "
            "are applied, the lowest place in the list first, until none fits. Unknown characters "
            f"come back as they are. {UNCHANGED}"
        ),
        kind="function",
        returns=("pieces",),
        form=list[str],
        reference=bpe_encode,
        cases=bpe_cases,
        properties=(partial(symbols_spell_the_word, name="pieces"),),
        forbidden=(
            f"{HERE}.bpe_encode",
            f"{THERE}.Tokenizer.tokenize",
            f"{THERE}.Tokenizer.encode",
        ),
        misconceptions=mistakes.BPE_ENCODE,
    ),
    Task(
        key="tokenizers.find_the_bug",
        stub="merge_words(words, pair)",
        contract=(
            "words: a dict from a word, its symbols with one space between them, to how often it "
            "comes; pair: a tuple of two symbols; returns a dict of the same form: the two joined "
            "wherever they stand side by side as whole symbols, from left to right, without "
            f"overlap. Words without the pair stay. {UNCHANGED}"
        ),
        kind="function",
        returns=("words",),
        form=dict[str, int],
        reference=merge_words,
        cases=bug_cases,
        forbidden=(f"{HERE}.merge_words",),
        misconceptions=mistakes.BUG,
    ),
)
