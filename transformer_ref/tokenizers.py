"""Tokenizers: text to ids and back, by words, by characters or by byte pairs.

All three share the ids of the special tokens: "<pad>" 0, "<bos>" 1, "<eos>" 2, "<unk>" 3.
Words and characters that the training text lacked become "<unk>".
Byte pairs know no such text: every character is a row of bytes, and every byte is a token.
"""

from __future__ import annotations

import heapq
import itertools
import json
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from transformer_ref._validate import require_at_least_one, require_choice, require_several
from transformer_ref.files import write_json
from transformer_ref.vocabulary import SPECIALS, UNK, Vocabulary

TOKENIZER_FILE = "tokenizer.json"  # byte pairs, in the form of the `tokenizers` library
VOCABULARY_FILE = "vocabulary.json"  # words or characters
Merge = tuple[str, str]
Ties = Literal["characters", "bytes"]


class Tokenizer(ABC):
    """What the tokenizers share: a vocabulary, and the way through it.

    Args:
        tokens: the tokens besides the specials, in the order of their ids.
        specials: special tokens besides the four; their ids start at 4.

    Attributes:
        vocabulary: tokens to ids and back.
        pad_id: 0, the padding.
        bos_id: 1, the begin of a sequence.
        eos_id: 2, its end.
        unk_id: 3, an unknown token.

    Raises:
        ValueError: if a token comes twice, is empty or has the name of a special.
    """

    pad_id, bos_id, eos_id, unk_id = range(len(SPECIALS) + 1)
    _type: ClassVar[str]
    _file: ClassVar[str] = VOCABULARY_FILE

    def __init__(self, tokens: Iterable[str], *, specials: Iterable[str] = ()) -> None:
        require_several(specials=specials)
        self.vocabulary = Vocabulary(tokens, specials=(UNK, *specials))

    def __len__(self) -> int:
        """Size of the vocabulary, specials included: V."""
        return len(self.vocabulary)

    @property
    def specials(self) -> tuple[str, ...]:
        """The special tokens besides the four."""
        return self.vocabulary.specials[len(SPECIALS) + 1 :]

    def tokenize(self, text: str) -> list[str]:
        """Cut a text into tokens.

        Args:
            text: any text.

        Returns:
            A list of tokens; those that the vocabulary lacks are among them.

        Raises:
            ValueError: if `text` is no string or holds a lone surrogate, which is no character.
        """
        _require_text("text", text)
        return self._cut(text)

    def convert_tokens_to_ids(self, tokens: Sequence[str]) -> list[int]:
        """Look tokens up.

        Args:
            tokens: strings.

        Returns:
            Their ids; that of "<unk>" for a token that the vocabulary lacks.

        Raises:
            ValueError: if `tokens` is one string, or holds something else than strings.
        """
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise ValueError(f"tokens must be a list of strings, got {tokens!r}")
        return self.vocabulary.encode(tokens)

    def encode(self, text: str, bos: bool = False, eos: bool = False) -> list[int]:
        """Turn a text into ids.

        Args:
            text: any text.
            bos: put the begin token before it.
            eos: put the end token after it.

        Returns:
            A list of ids.

        Raises:
            ValueError: as :meth:`tokenize`.
        """
        return self.vocabulary.encode(self.tokenize(text), bos=bos, eos=eos)

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids back into a text: what stands before the first end token.

        Args:
            ids: integers, a list or a 1-D tensor.

        Returns:
            The text without special tokens, except that "<unk>" marks what is not known.

        Raises:
            ValueError: if an id is no integer or outside the vocabulary.
        """
        return self._join(self.vocabulary.decode(ids))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the tokenizer's file, whole or not at all, in place of any other's in the folder.

        Byte pairs are written to tokenizer.json, words and characters to vocabulary.json.

        Args:
            folder: made if it does not exist.

        Raises:
            OSError: if the file cannot be written; what was there before stays.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_json(Path(folder) / self._file, self._content())
        other = VOCABULARY_FILE if self._file == TOKENIZER_FILE else TOKENIZER_FILE
        Path(folder, other).unlink(missing_ok=True)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Read what :meth:`save_pretrained` of the same class wrote.

        Args:
            folder: a local folder.

        Returns:
            The tokenizer.

        Raises:
            OSError: if the file is missing or damaged; the message names it.
            ValueError: if it is not that of a tokenizer of this class.
        """
        tokenizer = load_tokenizer(folder)
        if not isinstance(tokenizer, cls):
            raise ValueError(
                f"{Path(folder) / tokenizer._file} must hold a {cls.__name__}, "
                f"got a {type(tokenizer).__name__}"
            )
        return tokenizer

    @abstractmethod
    def _cut(self, text: str) -> list[str]: ...

    @abstractmethod
    def _join(self, tokens: list[str]) -> str: ...

    def _content(self) -> dict[str, Any]:
        """Return what the file holds: the type and the arguments of the class."""
        tokens = self.vocabulary.tokens[len(self.vocabulary.specials) :]
        return {"type": self._type, "specials": list(self.specials), "tokens": list(tokens)}


class WordTokenizer(Tokenizer):
    """A token is a run of letters and digits, or one other character that is not white space.

    A character keeps the combining marks behind it, such as an accent that is written apart or a
    vowel sign of Hindi. Nothing is normalized: the two ways to write an accent are two words, so
    normalize texts before (``unicodedata.normalize``).
    Lost are white space as it was, unknown words and, on request, case.
    Decoding puts single spaces between words, none where punctuation seldom has one:
    "a man - old" comes back as "a man-old".

    Args:
        tokens: the words, in the order of their ids.
        specials: special tokens besides the four.
        lowercase: take words in lower case.
        pretokenized: only white space ends a token, as in "HH AH L OW".

    Raises:
        ValueError: as :class:`Tokenizer`, or if `lowercase` or `pretokenized` is no bool.
    """

    _type = "word"
    # str.isalnum is true of what \w matches, but for the underscore.
    _WORD = re.compile(r"[^\W_]+|\S")
    _NEEDLESS_SPACE = re.compile(r" (?=[.,;:!?)\]}%\u2026'\u2019-])|(?<=[(\[{'\u2019-]) ")

    def __init__(
        self,
        tokens: Iterable[str],
        *,
        specials: Iterable[str] = (),
        lowercase: bool = False,
        pretokenized: bool = False,
    ) -> None:
        super().__init__(tokens, specials=specials)
        for name, value in (("lowercase", lowercase), ("pretokenized", pretokenized)):
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be True or False, got {value!r}")
        self.lowercase = lowercase
        self.pretokenized = pretokenized

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        min_freq: int = 1,
        vocab_size: int | None = None,
        specials: Iterable[str] = (),
        lowercase: bool = False,
        pretokenized: bool = False,
    ) -> Self:
        """Learn the words of texts: by falling frequency, ties in alphabetical order.

        Args:
            texts: any texts.
            min_freq: rarer words are left out.
            vocab_size: the rarest words beyond it are left out; it counts specials too.
            specials: special tokens besides the four.
            lowercase: take words in lower case.
            pretokenized: only white space ends a token.

        Returns:
            The tokenizer.

        Raises:
            ValueError: if `texts` is one string or holds no token, a limit is below 1,
                or `vocab_size` leaves no place for the specials.
        """
        empty = cls([], specials=specials, lowercase=lowercase, pretokenized=pretokenized)
        tokens = _frequent_tokens(empty, texts, min_freq, vocab_size)
        return cls(tokens, specials=empty.specials, lowercase=lowercase, pretokenized=pretokenized)

    def _cut(self, text: str) -> list[str]:
        text = text.lower() if self.lowercase else text
        if self.pretokenized:
            return text.split()
        return self._WORD.findall(text) if text.isascii() else list(self._with_marks(text))

    def _with_marks(self, text: str) -> Iterator[str]:
        """Yield the tokens; a mark belongs to the one before it, and letters behind it too."""
        token, end, in_word = "", 0, False
        for match in self._WORD.finditer(text):
            part, touches = match[0], bool(token) and match.start() == end
            is_mark = unicodedata.category(part[0]).startswith("M")
            if touches and (is_mark or (in_word and part[0].isalnum())):
                token += part
            else:
                if token:
                    yield token
                token, in_word = part, part[0].isalnum()
            end = match.end()
        if token:
            yield token

    def _join(self, tokens: list[str]) -> str:
        text = " ".join(tokens)
        return text if self.pretokenized else self._NEEDLESS_SPACE.sub("", text)

    def _content(self) -> dict[str, Any]:
        options = {"lowercase": self.lowercase, "pretokenized": self.pretokenized}
        return {**super()._content(), **options}


class CharTokenizer(Tokenizer):
    """A token is one character; only unknown characters are lost.

    Args:
        tokens: the characters, in the order of their ids; a string will do.
        specials: special tokens besides the four.

    Raises:
        ValueError: as :class:`Tokenizer`.
    """

    _type = "char"

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        min_freq: int = 1,
        vocab_size: int | None = None,
        specials: Iterable[str] = (),
    ) -> Self:
        """Learn the characters of texts: by falling frequency, ties in alphabetical order.

        Args:
            texts: any texts.
            min_freq: rarer characters are left out.
            vocab_size: the rarest characters beyond it are left out; it counts specials too.
            specials: special tokens besides the four.

        Returns:
            The tokenizer.

        Raises:
            ValueError: as :meth:`WordTokenizer.train`.
        """
        empty = cls([], specials=specials)
        return cls(_frequent_tokens(empty, texts, min_freq, vocab_size), specials=empty.specials)

    def _cut(self, text: str) -> list[str]:
        return list(text)

    def _join(self, tokens: list[str]) -> str:
        return "".join(tokens)


def _frequent_tokens(
    tokenizer: Tokenizer, texts: Iterable[str], min_freq: int, vocab_size: int | None
) -> list[str]:
    """Count the tokens of texts; return the frequent ones, most frequent first."""
    require_several(texts=texts)
    require_at_least_one(min_freq=min_freq)
    limit = None if vocab_size is None else _places_left("vocab_size", vocab_size, len(tokenizer))
    counts = Counter(token for text in texts for token in tokenizer.tokenize(text))
    if not counts:
        raise ValueError("texts must hold at least one token, got none")
    for special in tokenizer.vocabulary.specials:  # found in the text, it keeps its id
        counts.pop(special, None)
    frequent = [token for token, count in counts.items() if count >= min_freq]
    return sorted(frequent, key=lambda token: (-counts[token], token))[:limit]


def _printable_bytes() -> tuple[str, ...]:
    """Return a printable character for each byte: itself where Latin-1 shows one, else U+0100 on.

    The `tokenizers` library writes bytes so, too; the space is "Ġ".
    """
    spare = itertools.count(0x100)
    return tuple(
        chr(byte) if chr(byte).isprintable() and chr(byte) != " " else chr(next(spare))
        for byte in range(256)
    )


BYTES = _printable_bytes()
_TO_PRINTABLE = dict(enumerate(BYTES))
_FROM_PRINTABLE = {ord(character): byte for byte, character in enumerate(BYTES)}


def _split(pattern: str, text: str) -> list[str]:
    """Find all matches; the library, which keeps the compiled pattern, comes with an extra."""
    import regex

    return regex.findall(pattern, text)


class BPETokenizer(Tokenizer):
    """Byte-pair encoding of bytes: any text comes back as it was.

    A text is split into words, with the space or apostrophe before them, numbers,
    punctuation and white space; a word into bytes.
    Then the merges join neighbours, the one learned first first; none crosses words.
    A token is written with one printable character for each byte, "Ġ" for a space.
    Ids: the specials, the 256 bytes in their order, the merges in theirs.

    Text never turns into a special token, even where it spells one.
    The saved file is that of the `tokenizers` library, and its
    ``tokenizers.Tokenizer.from_file`` encodes text to the same ids.
    It does not know the specials as such: it adds none, and decodes them as text.

    Args:
        merges: pairs of tokens, in the order in which they were learned.
        specials: special tokens besides the four.

    Attributes:
        merges: the distinct ones of them.

    Raises:
        ValueError: if a merge joins what is no token yet, or makes the name of a special.

    Source: Sennrich et al. 2016, section 3.2; on bytes, Radford et al. 2019, section 2.2.
    """

    # Letters are what remains: a character newer than the tables of one of the two libraries
    # mostly is one, and so both split it alike.
    _file = TOKENIZER_FILE
    PATTERN = r"[ ']?[^\s\p{N}\p{P}\p{S}]+| ?\p{N}+| ?[\p{P}\p{S}]+|\s+(?!\S)|\s+"
    _CACHED_WORDS = 2**16

    def __init__(self, merges: Iterable[Merge], *, specials: Iterable[str] = ()) -> None:
        tokens = dict.fromkeys(BYTES)
        self._ranks: dict[Merge, int] = {}
        for merge in merges:
            pair = tuple(merge)
            if len(pair) != 2 or not set(pair) <= tokens.keys():
                raise ValueError(
                    f"merges must be pairs of bytes or of results of earlier merges, got {merge!r}"
                )
            self._ranks.setdefault(pair, len(self._ranks))
            tokens["".join(pair)] = None
        self.merges = tuple(self._ranks)
        super().__init__(tokens, specials=specials)
        self._cache: dict[str, list[str]] = {}

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        num_merges: int | None = None,
        *,
        vocab_size: int | None = None,
        specials: Iterable[str] = (),
        ties: Ties = "characters",
    ) -> Self:
        """Learn merges from texts: see :func:`learn_merges`.

        None makes the name of a special, so that text never turns into one.

        Args:
            texts: any texts.
            num_merges: how many; None = 1,000, or what `vocab_size` leaves.
            vocab_size: learn at most so many tokens, specials and bytes among them.
            specials: special tokens besides the four.
            ties: by what the greatest of equally frequent pairs is found.

        Returns:
            The tokenizer, with fewer merges where the texts have no more pairs.

        Raises:
            ValueError: if `texts` is one string or holds no character, both numbers are given,
                one is negative, `vocab_size` leaves no place for specials and bytes,
                or `ties` is another word.
        """
        require_several(texts=texts)
        untrained = cls([], specials=specials)
        if num_merges is not None and vocab_size is not None:
            raise ValueError(
                "give num_merges or vocab_size, not both, "
                f"got num_merges={num_merges}, vocab_size={vocab_size}"
            )
        if vocab_size is not None:
            num_merges = _places_left("vocab_size", vocab_size, len(untrained))
        elif num_merges is None:
            num_merges = 1000
        words: Counter[str] = Counter()
        for text in texts:
            _require_text("each of texts", text)
            words.update(_split(cls.PATTERN, text))
        if not words:
            raise ValueError("texts must hold at least one character, got none")
        counts = {_to_printable(word): count for word, count in words.items()}
        names = untrained.vocabulary.specials
        merges = learn_merges(counts, num_merges, ties=ties, excluded=names)
        return cls(merges, specials=untrained.specials)

    def _cut(self, text: str) -> list[str]:
        return [token for word in _split(self.PATTERN, text) for token in self._merge(word)]

    def _merge(self, word: str) -> list[str]:
        """Apply the merges to one word; words come again, so keep the answer."""
        if (known := self._cache.get(word)) is not None:
            return known
        chain = _Chain([*_to_printable(word), ""])
        found: list[tuple[int, int]] = []
        self._push(found, chain, range(len(chain.symbols)))
        while found:
            rank, place = heapq.heappop(found)  # the merge learned first; of equals the leftmost
            if self._ranks.get(chain.pair(place)) == rank:  # else a neighbour was merged since
                chain.merge(place)
                self._push(found, chain, (chain.previous[place], place))
        if len(self._cache) >= self._CACHED_WORDS:
            self._cache.clear()
        tokens = self._cache[word] = [symbol for symbol in chain.symbols if symbol]
        return tokens

    def _push(self, found: list[tuple[int, int]], chain: _Chain, places: Iterable[int]) -> None:
        for place in places:
            if (rank := self._ranks.get(chain.pair(place))) is not None:
                heapq.heappush(found, (rank, place))

    def _join(self, tokens: list[str]) -> str:
        # A model may answer with bytes that are no text; they show as U+FFFD.
        characters = "".join(tokens).translate(_FROM_PRINTABLE)
        return characters.encode("latin-1").decode("utf-8", errors="replace")

    def _content(self) -> dict[str, Any]:
        byte_level = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            # Listed here, specials would be found in texts that spell them.
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {
                        "type": "Split",
                        "pattern": {"Regex": self.PATTERN},
                        "behavior": "Isolated",
                        "invert": False,
                    },
                    {"type": "ByteLevel", **byte_level},
                ],
            },
            "post_processor": None,
            "decoder": {"type": "ByteLevel", **byte_level},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {token: index for index, token in enumerate(self.vocabulary.tokens)},
                "merges": [list(merge) for merge in self.merges],
            },
        }


def learn_merges(
    word_counts: Mapping[str, int],
    num_merges: int,
    *,
    ties: Ties = "characters",
    excluded: Collection[str] = (),
) -> list[Merge]:
    """Learn byte-pair merges: again and again join the most frequent pair of neighbours.

    Of equally frequent pairs the greatest is taken, as Python compares pairs of strings:
    by the characters that are seen, among which "Ġ", the space, comes after all of ASCII.
    ``ties="bytes"`` compares the bytes that they stand for, of which the space is one of the
    least; so do trainers that work on bytes themselves, as that of Stanford's course CS336.
    The `tokenizers` library takes the pair of the least ids instead.
    The pairs are counted once; a merge then changes the counts of its neighbours only.
    An index of places and a heap of counts lead to them, so no step looks at the whole text.

    Args:
        word_counts: words with their frequencies; a symbol is a character.
        num_merges: how many merges; fewer where no pair is left.
        ties: "characters", or "bytes" where each character is one of ``BYTES``.
        excluded: tokens that no merge may make.

    Returns:
        Pairs of symbols, in the order in which they were joined.

    Raises:
        ValueError: if a frequency is below 1, `num_merges` below 0, `ties` another word or
            `excluded` one string.

    Source: Sennrich et al. 2016, section 3.2 (Algorithm 1).
    """
    _places_left("num_merges", num_merges, 0)
    require_at_least_one(**{f"word_counts[{word!r}]": n for word, n in word_counts.items()})
    require_choice("ties", ties, get_args(Ties))
    require_several(excluded=excluded)

    def candidates(pairs: Iterable[Merge]) -> Iterator[_Candidate]:
        for pair in pairs:
            if counts[pair] and "" not in pair and "".join(pair) not in excluded:
                order = pair if ties == "characters" else _bytes_of(pair)
                yield _Candidate(counts[pair], order, pair)

    # All words in one chain; the empty symbol after each ends it.
    chain = _Chain([symbol for word in word_counts for symbol in (*word, "")])
    weights = [count for word, count in word_counts.items() for _ in range(len(word) + 1)]
    counts: defaultdict[Merge, int] = defaultdict(int)
    places: defaultdict[Merge, list[int]] = defaultdict(list)
    for place, weight in enumerate(weights):
        counts[chain.pair(place)] += weight
        places[chain.pair(place)].append(place)
    heap = list(candidates(counts))
    heapq.heapify(heap)
    merges: list[Merge] = []
    while heap and len(merges) < num_merges:
        best = heapq.heappop(heap)
        if best.count != counts[best.pair]:  # it has lost places since: later, if at all
            for candidate in candidates([best.pair]):
                heapq.heappush(heap, candidate)
            continue
        merges.append(best.pair)
        risen: set[Merge] = set()
        for place in sorted(places.pop(best.pair)):  # left to right
            if chain.pair(place) != best.pair:
                continue  # it overlapped with the one before, as in "aaa"
            for changed in (chain.previous[place], place, chain.following[place]):
                counts[chain.pair(changed)] -= weights[changed]
            chain.merge(place)
            for changed in (chain.previous[place], place):
                counts[chain.pair(changed)] += weights[changed]
                places[chain.pair(changed)].append(changed)
                risen.add(chain.pair(changed))
        for candidate in candidates(risen):
            heapq.heappush(heap, candidate)
    return merges


def _bytes_of(pair: Merge) -> Merge:
    """Return a pair with the character of each byte's own number, so that it compares as bytes."""
    first, second = (symbol.translate(_FROM_PRINTABLE) for symbol in pair)
    return first, second


class _Candidate:
    """A pair in the heap, whose least entry is the most frequent, of equals the greatest pair."""

    __slots__ = ("count", "order", "pair")

    def __init__(self, count: int, order: Merge, pair: Merge) -> None:
        self.count = count
        self.order = order
        self.pair = pair

    def __lt__(self, other: _Candidate) -> bool:
        return (self.count, self.order) > (other.count, other.order)


class _Chain:
    """Symbols in a row, in which neighbours are joined without moving the rest.

    Args:
        symbols: the last one is empty; so is, from then on, each that was joined to its left.
    """

    def __init__(self, symbols: list[str]) -> None:
        self.symbols = symbols
        self.previous = list(range(-1, len(symbols) - 1))
        self.following = [*range(1, len(symbols)), 0]

    def pair(self, place: int) -> Merge:
        return self.symbols[place], self.symbols[self.following[place]]

    def merge(self, place: int) -> None:
        joined = self.following[place]
        self.symbols[place] += self.symbols[joined]
        self.symbols[joined] = ""
        self.following[place] = self.following[joined]
        self.previous[self.following[place]] = place


def load_tokenizer(folder: str | Path) -> WordTokenizer | CharTokenizer | BPETokenizer:
    """Read what :meth:`Tokenizer.save_pretrained` wrote, whichever class it was.

    Args:
        folder: a local folder.

    Returns:
        The tokenizer.

    Raises:
        OSError: if the file is missing or damaged; the message names it.
        ValueError: if it is not that of one of these tokenizers.
    """
    path = Path(folder) / TOKENIZER_FILE
    if not path.exists():
        path = Path(folder) / VOCABULARY_FILE
    if not path.exists():
        raise OSError(f"no tokenizer in {folder}: neither {TOKENIZER_FILE} nor {path} exists")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OSError(f"{path} is damaged: {error}") from error
    try:
        tokenizer = _from_content(content)
        # What is read is what would be written; so nothing in the file is overlooked.
        foreign = tokenizer._content() != content
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not the file of one of these tokenizers: {error!r}") from error
    if foreign:
        raise ValueError(f"{path} is not as {type(tokenizer).__name__} would have written it")
    return tokenizer


def _from_content(content: dict[str, Any]) -> WordTokenizer | CharTokenizer | BPETokenizer:
    arguments = {name: value for name, value in content.items() if name != "type"}
    for tokenizer_class in (WordTokenizer, CharTokenizer):
        if content.get("type") == tokenizer_class._type:
            return tokenizer_class(**arguments)
    vocabulary = content["model"]["vocab"]
    specials = sorted(vocabulary, key=vocabulary.get)[: vocabulary[BYTES[0]]]
    return BPETokenizer(content["model"]["merges"], specials=specials[len(SPECIALS) + 1 :])


def _require_text(name: str, text: str) -> None:
    if not isinstance(text, str):
        raise ValueError(f"{name} must be a string, got {text!r}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} must be Unicode, got a lone surrogate at position {error.start}"
        ) from error


def _places_left(name: str, size: int, taken: int) -> int:
    """Return how many places a size leaves; it must not be below what is taken."""
    if not isinstance(size, int) or isinstance(size, bool) or size < taken:
        raise ValueError(f"{name} must be an integer of at least {taken}, got {size!r}")
    return size - taken


def _to_printable(word: str) -> str:
    return word.encode("utf-8").decode("latin-1").translate(_TO_PRINTABLE)
