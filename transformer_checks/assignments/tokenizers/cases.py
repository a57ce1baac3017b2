"""Makes the cases of the assignment "tokenizers"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from transformer_checks.assignments.shared_cases import asked_again, plain_case
from transformer_checks.assignments.tokenizers.answers import train_bpe
from transformer_checks.running.asking import describe
from transformer_checks.task import SAID, Case, Made, Maker

Pair = tuple[str, str]
Word = tuple[str, ...]

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

    def cased(self) -> tuple[str, str, str, str]:
        """Draw two letters of a script, both small and as capitals: x, y, X, Y."""
        script = self.some(("abcdefghijklm", "àéîõüñç", "бгджлфя", "βγδλπφω"), 1)[0]
        x, y = self.some(script, 2)
        return x, y, x.upper(), y.upper()

    def shuffled(self, counts: Mapping[str, int]) -> list[str]:
        """Return tokens, each as often as its count says, in a random order."""
        tokens = [token for token, count in counts.items() for _ in range(count)]
        return self.some(tokens, len(tokens))

    def row(self, symbols: Sequence[str], length: int) -> Word:
        """Draw symbols with repetitions."""
        return tuple(symbols[number] for number in self.rng.integers(len(symbols), size=length))


def _many(draw: Draw, count: int) -> list[str]:
    """Draw different words of three letters: more than a buffer or a habit allows for."""
    return ["".join(word) for word in draw.some(list(product("abcdefg", repeat=3)), count)]


def _asked_again(cases: list[Case], number: int) -> list[Case]:
    asked_again(cases, cases[number])
    return cases


# --- cases -----------------------------------------------------------------------------------


def word_tokenize_cases(rng: np.random.Generator) -> list[Case]:
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


def build_vocab_cases(rng: np.random.Generator) -> list[Case]:
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
    cases = _asked_again(
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
            case((3, 2, 2, 2, 1), 2, specials(2), draw.some(FOREIGN, 5)),
        ],
        3,
    )
    cases.append(case((2,) * 70, 1, few, _many(draw, 70)))
    cases.append(case((3, 2, 1), 1, ("<PAD>", "<Unk>")))
    return cases


def merge_pair_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of merge_pair."""
    draw = Draw(rng)
    x, y, z = draw.letters(3)
    dot = draw.some(".+*?$^|", 1)[0]
    long = draw.row((x, y, x + y), draw.number(9, 14))
    a, b, big_a, big_b = draw.cased()
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
        ((a, b, big_a, b, a, big_b, big_a, big_b, a, b), (a, b)),
        ((a, b, big_a, b, x, big_a, big_b, big_a, b), (big_a, b)),
    ]
    found = _asked_again([plain_case(word=word, pair=pair) for word, pair in cases], 2)
    found.append(plain_case(word=draw.row((x, y, z), 70), pair=(x, y)))
    return found


def _corpus(draw: Draw, letters: Sequence[str], number: int, lengths: Sequence[int]) -> Any:
    """Draw different words over a few letters, with their counts."""
    low, high = lengths
    words = {"".join(draw.row(letters, draw.number(low, high))) for _ in range(number)}
    return {word: draw.number(1, 6) for word in sorted(words)}


def train_bpe_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of train_bpe: real words and such as have many ties and repetitions."""
    draw = Draw(rng)
    x, y, z, w = draw.letters(4)
    low, mid, high = sorted((x, y, z))
    few = dict(zip(draw.words(3), (5, 3, 2), strict=True))
    a, b, big_a, big_b = draw.cased()
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
        ({a + b: 3, big_a + b: 2, big_a + big_b + a: 4, a + b + big_b: 2}, 4),
        (dict(zip(draw.some(FOREIGN, 5), (4, 3, 3, 2, 1), strict=True)), 7),
    ]
    found = _asked_again(
        [plain_case(word_counts=counts, num_merges=number) for counts, number in cases], 4
    )
    many = {word: draw.number(200, 400) for word in _many(draw, 70)}
    found.append(plain_case(word_counts=many, num_merges=3))
    found.append(plain_case(word_counts={low + mid: 300, high + w: 300}, num_merges=2))
    return found


def bpe_encode_cases(rng: np.random.Generator) -> list[Case]:
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
    a, b, big_a, big_b = draw.cased()
    cased = [(big_a, b), (a, b), (a + b, big_a), (big_a + b, big_b)]
    merges = train_bpe(_corpus(draw, (x, y, z), 9, (4, 8)), 10)
    cases += [("".join(draw.row((x, y, z, w), length)), merges) for length in (7, 10, 16)]
    cases += [
        (f"é{''.join(draw.row((x, y, z), 6))}!?", merges),
        (draw.some(list(seen), 1)[0], real),
        (draw.words(1)[0], real),
        (f"{draw.words(1)[0]}{draw.words(1)[0]}", real),
        (f"{draw.words(1)[0]}-{draw.number(2, 9)}", real),
        (draw.some(list(seen), 1)[0].title(), real),
        (a + b + big_a + b + big_b + a + big_b + big_a + a + b + big_a, cased),
        ("".join(draw.some(FOREIGN, 2)), train_bpe(dict.fromkeys(FOREIGN, 1), 20)),
    ]
    found = _asked_again([plain_case(word=word, merges=merges) for word, merges in cases], 2)
    found.append(plain_case(word="".join(draw.row("abc", 70)), merges=[("a", "b"), ("ab", "c")]))
    return found


def longer_than_needed_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of longer_than_needed: merges across a border, and such that waste nothing."""
    draw = Draw(rng)
    v, w, x, y, z, u = draw.letters(6)
    low, high = sorted((u, z))
    a, b, big_a, big_b = draw.cased()
    cases = [
        [(y, z), (x, y), (z, w)],
        [(x, y), (y, z), (yz := y + z, w)],
        [(y, z), (x, y), (w, x + y)],
        [(x, y), (y, x)],
        [(x, x), (x * 2, x)],
        [(x, x), (x * 2, x * 2), (x * 4, x * 2)],
        [],
        [(x, y), (x + y, z)],
        [(y, z), (x, y), (v, x + y), (z, w), (x, yz)],
        [(a, big_a), (big_b, a), (big_a, b), (b, a), (b + a, big_a)],
        # Of two shortest words the one whose first piece comes later is the first.
        [(y, low), (x, y), (low, w), (y, high), (y + high, v)],
        train_bpe({word: draw.number(1, 9) for word in draw.words(12)}, 24),
        train_bpe(dict(zip(draw.some(FOREIGN, 6), (4, 3, 3, 2, 2, 1), strict=True)), 16),
    ]
    for letters, most in (((x, y), 6), ((x, y, z), 8), ((w, x, y, z), 12), ((w, x, y, z), 20)):
        cases.append(train_bpe(_corpus(draw, letters, 8, (3, 8)), most))
    return _asked_again([plain_case(merges=merges) for merges in cases], 1)


def find_the_bug_cases(rng: np.random.Generator) -> list[Case]:
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
    a, b, big_a, big_b = draw.cased()
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
        case((a, big_b), (a, big_b, z), (big_a, big_b, a, b), *traps((a, big_b))),
    ]
    cases = _asked_again(cases, 2)
    # What a template of `re.sub` takes for a group.
    cases.append(case(("\\", "1"), ("\\", "1", z), *traps(("\\", "1"))))
    many = {" ".join(word): draw.number(200, 400) for word in _many(draw, 70)}
    many |= {" ".join(word): 300 for word in traps(("a", "b"))}
    cases.append(plain_case(words=many, pair=("a", "b")))
    return cases


# --- tokenizers that lose something ----------------------------------------------------------

Rule = Callable[[str, Any], str]

# What becomes of a text on its way through ids and back; the second argument is a trait.
RULES: dict[str, Rule] = {
    "keeps everything": lambda text, _: text,
    "lower case": lambda text, _: text.lower(),
    "runs of spaces become one": lambda text, _: re.sub(" +", " ", text),
    "spaces at both ends are cut off": lambda text, _: text.strip(" "),
    "no space in front of punctuation": lambda text, _: re.sub(r" ([.,!?])", r"\1", text),
    "three dots become one character": lambda text, _: text.replace("...", "…"),
    "line ends become \\n": lambda text, _: text.replace("\r\n", "\n"),
    "a letter comes twice in a row at most": lambda text, _: re.sub(r"(\w)\1{2,}", r"\1\1", text),
    "spaces are written as _": lambda text, _: text.replace("_", " "),
    "unknown characters become ?": lambda text, known: "".join(
        each if each in known else "?" for each in text
    ),
    "only so many ids are kept": lambda text, most: text[:most],
}


def _coder(given: type) -> Maker:
    """Return the maker of encode, which is given a str, or of decode, which is given a list."""

    def make(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
        description = case.arguments[name]
        rule = RULES[description["rule"]] if description["here"] else RULES["keeps everything"]

        def coder(value: Any) -> Any:
            if given is str and isinstance(value, str):
                return [ord(each) for each in rule(value, description["trait"])]
            if given is list and isinstance(value, list):
                return rule("".join(map(chr, value)), description["trait"])
            wanted = "a str" if given is str else "a list of ids"
            raise TypeError(f"{name} takes {wanted}, received {describe(value)}")

        coder.__name__ = coder.__qualname__ = name
        return Made(coder)

    return Maker(make)


ENCODE, DECODE = _coder(str), _coder(list)


def goes_through(case: Case, piece: str) -> str:
    """Return what a tokenizer of a case makes of a piece."""
    description = case.arguments["encode"]
    return RULES[description["rule"]](piece, description["trait"])


def _leak_case(rule: str, text: str, trait: Any = "", in_decode: bool = False) -> Case:
    """Make a case; the rule is at work in encode, or in decode."""
    said = f"{rule} ({trait})" if trait else rule
    coders = {
        name: {SAID: said if here else "plain", "rule": rule, "trait": trait, "here": here}
        for name, here in (("encode", not in_decode), ("decode", in_decode))
    }
    said = f"text={text!r}, {'decode' if in_decode else 'encode'}: {said}"
    return Case(said, {**coders, "text": text})


def shortest_leak_cases(rng: np.random.Generator) -> list[Case]:
    """Cases of shortest_leak: each rule, leaks of all lengths, at the ends and in the middle."""
    draw = Draw(rng)

    def words(count: int) -> list[str]:
        return [word[:5] for word in draw.words(count)]

    a, b, c, d, e = words(5)
    x, y, z = draw.letters(3)
    odd, other = draw.some("éß東Ωñ", 2)
    known = "abcdefghijklmnopqrstuvwxyz ?.,"
    most = draw.number(4, 9)
    plain = " ".join(words(4))
    cases = [
        _leak_case("runs of spaces become one", f"{a} {b}  {c} {d}   {e}"),
        _leak_case("lower case", f"{a} {b.title()} {x}{y.upper()}{z.upper()}"),
        _leak_case("keeps everything", f"{a}  {b.upper()} {odd} ... {c}"),
        _leak_case("no space in front of punctuation", f"{a} {b} , {c} !", in_decode=True),
        _leak_case("unknown characters become ?", f"{a} {b}{odd} {c} {other}{d}", known),
        _leak_case("unknown characters become ?", f"{a} ? {b} {c}{odd}", known, in_decode=True),
        _leak_case("unknown characters become ?", plain, known),
        _leak_case("three dots become one character", f"{a}. {b}.. {c}... {d}"),
        _leak_case("line ends become \\n", f"{a}\n{b}\r\n{c}\r\n{d}"),
        _leak_case("a letter comes twice in a row at most", f"{x * 2} {a} {y * 3}{z * 4}"),
        _leak_case("spaces are written as _", f"{a} {b}_{c} {d}", in_decode=True),
        # The text comes back as a whole, a piece of it does not.
        _leak_case("spaces at both ends are cut off", f"{a} {b}"),
        _leak_case("only so many ids are kept", f"{a} {b} {c} {d}", most),
        _leak_case("only so many ids are kept", plain, len(plain) - 1, in_decode=True),
        _leak_case("only so many ids are kept", plain, len(plain)),
        _leak_case("lower case", x.upper()),
        _leak_case("runs of spaces become one", f"{a} {b} {c}  ", in_decode=True),
    ]
    return _asked_again(cases, 3)
