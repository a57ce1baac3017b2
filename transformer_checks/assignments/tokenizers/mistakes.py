"""The misconceptions of the assignment "tokenizers", task by task, each a change to the answer.

They come from tutorials and from repositories that copied them: merging with `str.replace`, ties
left to the order of a dictionary, merges looked up by place or by length and not by rank.
The changes to `merge_pair` and `count_pairs` are also those to the answers that call the two: their
code is written out there first.
Twins that give the same answer are one entry: a merge that is counted twice where it overlaps and
one that is joined twice differ, a set of pairs and a count once a word do not.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from transformer_checks.assignments.shared_mistakes import FIRST_ROUND, after, with_wrong
from transformer_checks.assignments.tokenizers.answers import count_pairs, merge_pair
from transformer_checks.judging.changes import Change, change
from transformer_checks.task import Misconception

AS_TEXT = Misconception(
    "text-returned",
    "the pieces are put together into one string again",
    "What comes after this needs the pieces apart. Return a list, with one string for each piece.",
    (),
)

CHANGES_INPUT = Misconception(
    "changes-its-input",
    "the function changes what the caller gave it",
    "An argument is the caller's own object, and append, +=, pop or an assignment to an entry "
    "reaches out of the function. Work on a copy.",
    (),
)


# --- word_tokenize ---------------------------------------------------------------------------

IN_A_WORD, NOT_SPACE = "character.isalnum()", "not character.isspace()"
MARK = f"        if {NOT_SPACE}:\n            tokens.append(character)\n"
ENDED = '        if word:\n            tokens.append(word)\n            word = ""\n'
TOKENS = "[*tokens, word] if word else tokens"
IN_ASCII = change(IN_A_WORD, f"character.isascii() and {IN_A_WORD}")
LETTERS_ONLY = change(IN_A_WORD, "character.isalpha()")
EMPTY_WORDS_TOO = change("if word:", "if True:") + change(TOKENS, "[*tokens, word]")
# Whatever is in no word starts a new one, which may grow.
STARTS_ANEW = change("tokens.append(character)", "word = character")


def _keeps(marks: str, kind: str = "isalnum") -> Change:
    """Keep marks in a word where what stands on both sides is of a kind."""
    inside = f"word[-1:].{kind}() and text[place + 1 : place + 2].{kind}()"
    return change("for character in text", "for place, character in enumerate(text)") + change(
        IN_A_WORD, f"{IN_A_WORD} or (character in {marks!r} and {inside})"
    )


WORDS = (
    Misconception(
        "split-only",
        "punctuation stays glued to the words",
        "White space alone ends a word here, so 'end.' and 'end' become two different tokens. "
        "Each punctuation mark is a token of its own.",
        (
            change(IN_A_WORD, NOT_SPACE),
            change(
                "tokens = []",
                f"return [part.strip({string.punctuation!r}) or part for part in text.split()]",
            ),
        ),
    ),
    Misconception(
        "punctuation-lost",
        "the punctuation marks are dropped",
        "They carry meaning and are tokens too. Look at what becomes of a character that is "
        "neither a letter nor a digit nor white space.",
        (change(MARK, ""),),
    ),
    Misconception(
        "punctuation-runs",
        "a row of punctuation marks becomes one token",
        "'...' is three tokens. Runs are for letters and digits; look for a + that belongs to the "
        "words only.",
        (
            change(IN_A_WORD, f"{NOT_SPACE} and word and {IN_A_WORD} == word[-1].isalnum()")
            + STARTS_ANEW,
        ),
    ),
    Misconception(
        "lowercased",
        "the tokens are in lower case",
        "Case is kept here: 'US' and 'us' are two tokens. Look for lower() or casefold().",
        (change("for character in text", "for character in text.lower()"),),
    ),
    Misconception(
        "only-the-space",
        "only the space counts as white space, not tabs, line breaks and others",
        "Ask str.isspace(), use \\s, or call split() without an argument.",
        (
            change(NOT_SPACE, 'character != " "'),
            change(IN_A_WORD, f"{IN_A_WORD} or (character.isspace() and character != ' ')"),
        ),
    ),
    Misconception(
        "white-space-kept",
        "white space is kept as tokens",
        "White space separates tokens and is none itself. Look at what becomes of a space.",
        (
            change(NOT_SPACE, "True"),
            change(IN_A_WORD, "(word + character).isalnum() or (word + character).isspace()")
            + change(NOT_SPACE, "True")
            + STARTS_ANEW,
        ),
    ),
    Misconception(
        "empty-tokens",
        "empty strings are among the tokens",
        "split(' ') and re.split give an empty string where two separators meet. Leave them out.",
        (
            EMPTY_WORDS_TOO,
            EMPTY_WORDS_TOO
            + change(NOT_SPACE, "True")
            + change("append(character)", "append(character.strip())"),
            change(
                "tokens = []",
                "import re\n\n"
                r'    return re.sub(r"([^\w\s])", r" \1 ", text).split(" ")',
            ),
        ),
    ),
    Misconception(
        "ascii-only",
        "letters outside a to z are cut off as if they were punctuation",
        "Words have letters like é, ß and 東, too. Ask str.isalnum() or use \\w, not a range from "
        "a to z.",
        (
            IN_ASCII,
            IN_ASCII + change(NOT_SPACE, "not (character.isascii() and character.isspace())"),
            IN_ASCII + change(MARK, ""),
        ),
    ),
    Misconception(
        "listed-punctuation",
        "only the punctuation marks of a list are cut off",
        "Every list lacks some, and so does string.punctuation: think of “ and …. Take whatever is "
        "neither alphanumeric nor white space.",
        (
            *(
                change(IN_A_WORD, f"{NOT_SPACE} and character not in {marks!r}")
                for marks in (string.punctuation, ".,!?", ".,!?;:", ".,", ".,!?;:'\"()-")
            ),
            change(NOT_SPACE, f"character in {string.punctuation!r}"),
        ),
    ),
    Misconception(
        "digits-apart",
        "digits do not stay in one token with the letters and digits beside them",
        "'v2' and '2024' are one token each. isalpha() is false for digits; ask isalnum().",
        (
            change(IN_A_WORD, "(word + character).isalpha() or (word + character).isdigit()")
            + STARTS_ANEW,
            LETTERS_ONLY,
            LETTERS_ONLY + change(NOT_SPACE, "not (character.isspace() or character.isdigit())"),
        ),
    ),
    Misconception(
        "words-with-punctuation",
        "an apostrophe, hyphen or point inside a word stays in it",
        "\"don't\" is three tokens here, and so are 'well-known' and '3.5'. Every punctuation mark "
        "is a token, wherever it stands.",
        (
            _keeps("'"),
            _keeps("-'"),
            _keeps("-"),
            _keeps(".,", "isdigit"),
        ),
    ),
    Misconception(
        "word-not-emptied",
        "a word that has ended is not emptied, so that the next one grows out of it",
        "Once a word stands in the result, the next one begins as nothing.",
        (change('            word = ""\n', ""),),
    ),
    Misconception(
        "mark-before-its-word",
        "a punctuation mark comes before the word that it ends",
        "The mark ends the word: the word goes into the result first, and the mark after it.",
        (change(ENDED + MARK, MARK + ENDED),),
    ),
    Misconception(
        "last-word-lost",
        "a word at the very end of the text is lost",
        "A loop that gives a word away when the next character ends it never sees that character "
        "after the last word. Look at what happens after the loop.",
        (change(TOKENS, "tokens"),),
    ),
    Misconception(
        "characters",
        "the tokens are single characters",
        "A run of letters and digits is one token. Look for list(text), or a pattern without a +.",
        (
            change("tokens = []", "return list(text)"),
            change(IN_A_WORD, "False"),
        ),
    ),
    Misconception(
        "only-once",
        "a token that comes again is left out",
        "The tokens are the text in its order, repetitions included. A set or a dictionary belongs "
        "to the vocabulary, which comes later.",
        (
            change(TOKENS, f"list(dict.fromkeys({TOKENS}))"),
            change(TOKENS, f"sorted(set({TOKENS}))"),
        ),
    ),
    with_wrong(AS_TEXT, change(TOKENS, f"' '.join({TOKENS})")),
)


# --- build_vocab -----------------------------------------------------------------------------

ORDER, BY_ID = "(-counts[token], token)", "[*specials, *words]"
VOCABULARY = "{token: number for number, token in enumerate(tokens_by_id)}"
SPECIAL_IDS = "{token: number for number, token in enumerate(specials)}"
SPECIALS_STAY = change("[token for token in frequent if token not in specials]", "frequent")

VOCAB = (
    Misconception(
        "min-freq-strict",
        "a token that comes exactly min_freq times is left out",
        "min_freq is the least number of times that is enough. Look at > and >=.",
        (change(">= min_freq", "> min_freq"),),
    ),
    Misconception(
        "min-freq-ignored",
        "min_freq has no effect: rare tokens are in the vocabulary too",
        "Only tokens that come at least min_freq times get an id. Look at where the counts are "
        "compared with it.",
        (change(" if counts[token] >= min_freq", ""),),
    ),
    Misconception(
        "specials-last",
        "the special tokens come after the words",
        "Their ids must not depend on the text, so they come first, in the order given.",
        (change(BY_ID, "[*words, *specials]"),),
    ),
    Misconception(
        "specials-sorted",
        "the special tokens are not in the order given",
        "The caller chose their order, and with it their ids. Do not sort them or take them "
        "through a set.",
        (
            change(BY_ID, "[*sorted(specials), *words]"),
            change(BY_ID, "[*specials[::-1], *words]"),
        ),
    ),
    Misconception(
        "specials-left-out",
        "special tokens that the text does not hold are missing",
        "Padding and the unknown token never stand in a text, and need an id all the same. They "
        "do not have to reach min_freq.",
        (
            change(BY_ID, "words"),
            change(BY_ID, "[*(each for each in specials if counts[each] >= min_freq), *words]"),
        ),
    ),
    Misconception(
        "rare-first",
        "the rarest tokens come first",
        "Frequent tokens get the small ids. Look at the sign of the count in the sort key, or at "
        "reverse.",
        (change(ORDER, "(counts[token], token)"),),
    ),
    Misconception(
        "ties-as-they-came",
        "tokens that come equally often are in the order in which the text has them",
        "Counter.most_common and a sort by the count alone leave ties as they were. Make the "
        "token itself the second part of the sort key.",
        (change(ORDER, "-counts[token]"),),
    ),
    Misconception(
        "ties-backwards",
        "tokens that come equally often are in reverse alphabetical order",
        "reverse=True turns the whole key around, the token with it. Negate the count instead.",
        (change(ORDER, "(counts[token], token), reverse=True"),),
    ),
    Misconception(
        "alphabetical-only",
        "the tokens are in alphabetical order, whatever their frequency is",
        "The frequency comes first in the sort key; the alphabet decides between equal ones only.",
        (change(ORDER, "token"),),
    ),
    Misconception(
        "not-sorted",
        "the tokens are in the order in which the text has them",
        "Count first, then sort: by falling frequency, and alphabetically where it is equal.",
        (change(f"    words.sort(key=lambda token: {ORDER})\n", ""),),
    ),
    Misconception(
        "case-ignored",
        "capital letters are treated like small ones",
        "'The' and 'the' are two tokens, and alphabetical means the order of sorted(), in which "
        "capital letters come first. Look for lower().",
        (
            change(ORDER, "(-counts[token], token.lower(), token)"),
            change(ORDER, "(-counts[token], token.lower())"),
            change("Counter(tokens)", "Counter(token.lower() for token in tokens)"),
        ),
    ),
    Misconception(
        "ids-from-one",
        "the ids start at 1",
        "An id is a row of a matrix, and rows are counted from 0.",
        (change("enumerate(tokens_by_id)", "enumerate(tokens_by_id, start=1)"),),
    ),
    Misconception(
        "ids-collide",
        "a word and a special token have the same id",
        "The words' ids go on where those of the special tokens end. Look at where each count "
        "begins.",
        (
            change(
                VOCABULARY,
                "{each: number for part in (specials, words) for number, each in enumerate(part)}",
            ),
        ),
    ),
    Misconception(
        "ids-with-gaps",
        "the ids have gaps where tokens were left out",
        "Every id should be a row in use. Leave out the special tokens that stand in the text, and "
        "what is rare, before you number the rest.",
        (
            SPECIALS_STAY
            + change(
                "enumerate(tokens_by_id)",
                "enumerate(tokens_by_id) if number < len(specials) or token not in specials",
            ),
        ),
    ),
    Misconception(
        "special-twice",
        "a special token that stands in the text is numbered a second time",
        "It has its id already, and must keep it. Leave the special tokens out of the words.",
        (
            SPECIALS_STAY,
            SPECIALS_STAY
            + change(
                f"return {VOCABULARY}",
                f"vocab = {SPECIAL_IDS}\n"
                "    for token in words:\n        vocab[token] = len(vocab)\n    return vocab",
            ),
        ),
    ),
    Misconception(
        "inverted",
        "the dictionary leads from ids to tokens",
        "It is used to look up tokens: the token is the key, the id the value.",
        (change("{token: number for", "{number: token for"),),
    ),
    Misconception(
        "counts-as-ids",
        "the values are the frequencies of the tokens, not their ids",
        "The frequencies only decide on the order. The id is the place in that order.",
        (
            change(
                VOCABULARY,
                SPECIAL_IDS + " | {token: counts[token] for token in words}",
            ),
            change(VOCABULARY, "dict(counts)"),
        ),
    ),
    Misconception(
        "list-returned",
        "the result is a list of tokens, not a dictionary",
        "A list gives the token of an id. To find the id of a token, make a dictionary of both.",
        (change(VOCABULARY, "tokens_by_id"),),
    ),
    with_wrong(
        CHANGES_INPUT,
        change(BY_ID, "specials\n    tokens_by_id += words"),
        change("    counts =", "    tokens.sort()\n    counts ="),
    ),
)


# --- encode_tokens ---------------------------------------------------------------------------

ID = "vocab.get(token, vocab[unk])"
IDS = f"[{ID} for token in tokens]"

ENCODE = (
    Misconception(
        "unknown-left-out",
        "unknown tokens are left out",
        "Every token gets an id, so that the ids stand where the tokens stood. Unknown ones get "
        "the id of unk.",
        (
            change(IDS, "[vocab[token] for token in tokens if token in vocab]"),
            change(
                f"return {IDS}",
                "ids = []\n    for token in tokens:\n"
                "        if token not in vocab:\n            break\n"
                "        ids.append(vocab[token])\n    return ids",
            ),
        ),
    ),
    Misconception(
        "unknown-raises",
        "a token that is not in the vocabulary raises an error",
        "vocab[token] raises KeyError where there is no such key. Say what to take instead.",
        (change(ID, "vocab[token]"),),
        r"^(KeyError|ValueError)",
    ),
    Misconception(
        "unk-not-looked-up",
        "unknown tokens become the string unk, not its id",
        "unk is a token. Like every token it has an id, and the vocabulary knows it.",
        (change(ID, "vocab.get(token, unk)"),),
    ),
    Misconception(
        "unknown-is-a-fixed-number",
        "unknown tokens get a fixed number instead of the id of unk",
        "Which id unk has depends on the vocabulary. Look it up: it need not be 0 or the last one.",
        (
            *(
                change(ID, f"vocab.get(token, {number})")
                for number in ("0", "1", "3", "-1", "len(vocab)", "len(vocab) - 1")
            ),
        ),
    ),
    Misconception(
        "unknown-is-none",
        "unknown tokens become None",
        "vocab.get(token) gives None where there is no such key. It takes a second argument.",
        (change(ID, "vocab.get(token)"),),
    ),
    Misconception(
        "zero-is-unknown",
        "the token with id 0 is taken for an unknown one",
        "The number 0 counts as false, so `vocab.get(token) or ...` and `if vocab.get(token)` "
        "throw away a good id. Ask whether the token is in the vocabulary.",
        (change(ID, "vocab.get(token) or vocab[unk]"),),
    ),
    Misconception(
        "vocabulary-grows",
        "unknown tokens get new ids",
        "The model has a row for each id of the vocabulary and none for new ones. The vocabulary "
        "stays as it is, and unknown tokens become unk.",
        (
            change(ID, "vocab.setdefault(token, len(vocab))"),
            change(ID, "vocab.setdefault(token, len(vocab))")
            + change("    return", "    vocab = dict(vocab)\n    return"),
        ),
    ),
    Misconception(
        "case-ignored",
        "tokens are looked up in lower case",
        "The vocabulary tells 'The' from 'the'. Look tokens up as they are.",
        (
            change(ID, "vocab.get(token.lower(), vocab[unk])"),
            change(ID, "vocab.get(token, vocab.get(token.lower(), vocab[unk]))"),
        ),
    ),
    Misconception(
        "place-in-dictionary",
        "the ids are places in the dictionary, not its values",
        "A dictionary may hold its entries in any order. The id of a token is the value under it.",
        (
            change(
                "    return",
                "    vocab = {token: place for place, token in enumerate(vocab)}\n    return",
            ),
        ),
    ),
    Misconception(
        "only-once",
        "a token that comes again is left out",
        "A sentence says the same word twice, and so do its ids. Go through the tokens as they "
        "are, without a set.",
        (
            change("in tokens]", "in dict.fromkeys(tokens)]"),
            change(IDS, f"sorted(set({IDS}))"),
        ),
    ),
    Misconception(
        "sorted-ids",
        "the ids are sorted",
        "The order of the ids is the order of the tokens, and with it the sentence.",
        (change(IDS, f"sorted({IDS})"),),
    ),
    Misconception(
        "ids-as-text",
        "the ids are strings",
        "An id is used as the number of a row. Look for str() or an f-string.",
        (change(ID, f"str({ID})"),),
    ),
    Misconception(
        "tensor-returned",
        "the result is a tensor or an array, not a list",
        "A tensor needs sentences of one length, which comes later. Return a list of integers.",
        (change(IDS, f"torch.tensor({IDS})"),),
        r"is a(n)? (tensor|ndarray|Tensor)",
    ),
    with_wrong(
        CHANGES_INPUT,
        change(
            "    return",
            "    tokens[:] = [token if token in vocab else unk for token in tokens]\n    return",
        ),
        change(f"return {IDS}", f"tokens[:] = {IDS}\n    return list(tokens)"),
    ),
)


# --- count_pairs -----------------------------------------------------------------------------

PAIRS, COUNTED = "pairwise(word)", "counts[pair] += count"
ONCE_A_WORD = change(PAIRS, f"set({PAIRS})")
ACROSS_WORDS = change(
    "    return counts",
    "    for one, other in pairwise(words):\n        counts[one[-1], other[0]] += words[one]\n"
    "    return counts",
)
IN_ONE_ROW = change(
    "counts: Counter[tuple[str, str]] = Counter()",
    "row = [symbol for word, count in words.items() for symbol in word * count]\n"
    "    return Counter(pairwise(row))",
)

NO_OVERLAPS = Misconception(
    "no-overlaps",
    "of pairs that overlap only one is counted",
    "'aaa' holds the pair (a, a) at two places. Only merging has to choose; counting takes "
    "every place.",
    (
        change(
            f"        for pair in {PAIRS}:\n",
            f"        before = None\n        for pair in {PAIRS}:\n"
            "            before = None if pair == before else pair\n"
            "            if before is None:\n                continue\n",
        ),
    ),
)

COUNT = (
    Misconception(
        "not-weighted",
        "the pairs are not weighted by the word's count",
        "A word that comes 100 times holds each of its pairs 100 times. Add the word's count, "
        "not 1.",
        (change(COUNTED, "counts[pair] += 1"),),
    ),
    Misconception(
        "once-a-word",
        "a pair that comes twice in a word is counted once",
        "Each place counts, so the word's count is added at each. Look for a set, or a test "
        "whether the pair is in the word.",
        (
            ONCE_A_WORD,
            ONCE_A_WORD + change(COUNTED, "counts[pair] += 1"),
        ),
    ),
    NO_OVERLAPS,
    Misconception(
        "across-words",
        "the end of one word and the beginning of the next are counted as a pair",
        "Words are kept apart in a dictionary, and their order means nothing. Pairs stand inside "
        "one word.",
        (
            ACROSS_WORDS,
            ACROSS_WORDS + change("+= words[one]", "+= 1"),
            IN_ONE_ROW,
        ),
    ),
    Misconception(
        "ends-meet",
        "the last and the first symbol of a word are counted as a pair",
        "word[-1] is the last symbol, so an index that starts at 0 and looks one back goes round "
        "the end.",
        (change(PAIRS, "((word[place - 1], word[place]) for place in range(len(word)))"),),
    ),
    Misconception(
        "last-pair-lost",
        "the last pair of each word is not counted",
        "A word of n symbols has n - 1 pairs. Look at the end of the range.",
        (change(PAIRS, "pairwise(word[:-1])"),),
    ),
    Misconception(
        "first-pair-lost",
        "the first pair of each word is not counted",
        "A word of n symbols has n - 1 pairs, and the first starts at index 0.",
        (change(PAIRS, "pairwise(word[1:])"),),
    ),
    Misconception(
        "every-other-pair",
        "each word is cut into twos, so that only every other pair is counted",
        "The symbols b and c of 'abcd' are neighbours too. Go on by one symbol, not by two.",
        (change(PAIRS, "zip(word[::2], word[1::2])"),),
    ),
    Misconception(
        "joined-keys",
        "the keys are strings, in which the two symbols of a pair can no longer be told apart",
        "('a', 'bc') and ('ab', 'c') are two pairs with the same text. Take the tuple as the key.",
        (
            change(COUNTED, 'counts["".join(pair)] += count'),
            change(COUNTED, 'counts[" ".join(pair)] += count'),
        ),
    ),
    Misconception(
        "order-ignored",
        "the pairs (a, b) and (b, a) are counted as one",
        "'on' and 'no' are not the same. Leave the two symbols of a pair in their order.",
        (
            change(COUNTED, "counts[tuple(sorted(pair))] += count"),
            change(COUNTED, "counts[tuple(sorted(pair, reverse=True))] += count"),
        ),
    ),
    Misconception(
        "first-counted-twice",
        "a pair that is new begins with a count before anything is added",
        "What has not been seen was seen 0 times. Look at the second argument of get.",
        (
            change(COUNTED, "counts[pair] = counts.get(pair, count) + count"),
            change(COUNTED, "counts[pair] = counts.get(pair, 1) + count"),
        ),
    ),
    Misconception(
        "not-added",
        "only the last word that holds a pair counts",
        "counts[pair] = count forgets what was there before. Add to it.",
        (change(COUNTED, "counts[pair] = count"),),
    ),
    Misconception(
        "characters",
        "characters are paired, not symbols",
        "After the first merges a symbol may have several characters. Pair the entries of the "
        "tuple, and do not join them before.",
        (change(PAIRS, 'pairwise("".join(word))'),),
    ),
    Misconception(
        "single-symbols",
        "single symbols are counted, not pairs",
        "A key is a tuple of two neighbours.",
        (
            change(PAIRS, "word"),
            change(PAIRS, "zip(word)"),
        ),
    ),
    Misconception(
        "not-neighbours",
        "symbols that are not neighbours are counted as pairs, too",
        "Only two symbols that stand side by side can be merged. Look for combinations or a loop "
        "in a loop.",
        (
            change(
                PAIRS,
                "((one, other) for place, one in enumerate(word) for other in word[place + 1 :])",
            ),
            change(PAIRS, "((one, other) for one in word for other in word)"),
        ),
    ),
    Misconception(
        "list-returned",
        "the result is a list, not a dictionary",
        "The next step looks counts up by pair. Return the dictionary itself.",
        (
            change("return counts", "return list(counts.items())"),
            change("return counts", "return counts.most_common()"),
        ),
    ),
)


# --- merge_pair ------------------------------------------------------------------------------

STANDS_HERE, SYMBOL = "word[place : place + 2] == pair", "pair[0] + pair[1]"
MERGED = "tuple(merged)"
MERGED_ONCE = change(
    "            place += 2\n", "            return (*merged, *word[place + 2 :])\n"
)
IN_EITHER_ORDER = change(STANDS_HERE, "word[place : place + 2] in (pair, pair[::-1])")
HERE_JOINED = change(SYMBOL, "word[place] + word[place + 1]")
FIRST_COMPARED = change(STANDS_HERE, "word[place] == pair[0] and place + 1 < len(word)")

OVERLAPPING = Misconception(
    "overlapping",
    "pairs that overlap are both merged, so that a symbol is used twice",
    "'aaa' becomes 'aa' and 'a': once the first two are merged, the second a is gone. After a "
    "merge go on behind both symbols.",
    (change("place += 2", "place += 1 if word[place + 1 : place + 3] == pair else 2"),),
)

SECOND_STAYS = Misconception(
    "second-symbol-stays",
    "the second symbol of a merged pair stays in the word",
    "It is part of the new symbol now. After a merge go on behind both symbols: by two places, "
    "not by one.",
    (change("place += 2", "place += 1"),),
)

FIRST_ONLY = Misconception(
    "first-place-only",
    "only the first place is merged",
    "All places at which the pair stands are merged. Look for a return or break inside the loop, "
    "or for index().",
    (
        MERGED_ONCE,
        change(STANDS_HERE, f"{STANDS_HERE} and pair[0] not in word[:place]"),
    ),
)

FROM_RIGHT = Misconception(
    "from-the-right",
    "the word is read from its end",
    "Where pairs overlap, the one that starts further left is merged: 'aaa' becomes 'aa', 'a'.",
    (
        change("    merged = []", "    word, pair = word[::-1], pair[::-1]\n    merged = []")
        + change(SYMBOL, "pair[1] + pair[0]")
        + change(MERGED, "tuple(merged[::-1])"),
    ),
)

EITHER_ORDER = Misconception(
    "either-order",
    "the two symbols are merged in the other order, too",
    "The pair (o, n) stands in 'on' and not in 'no'. Look for a set or `in`.",
    (
        IN_EITHER_ORDER + HERE_JOINED,
        IN_EITHER_ORDER,
    ),
)

INSIDE = Misconception(
    "inside-symbols",
    "the pair is found across the borders of longer symbols",
    "In 'l ow e' the text 'w e' stands, but no symbol is w. A search in the joined text does not "
    "know where symbols begin and end; compare whole symbols.",
    (
        change(
            "    merged = []",
            '    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split(" "))',
        ),
    ),
)

SAME_TEXT = Misconception(
    "same-text",
    "two symbols are merged because together they spell the same as the pair",
    "('a', 'bc') is not ('ab', 'c'). Compare the symbols one by one, not their joined text.",
    (change(STANDS_HERE, '"".join(word[place : place + 2]) == "".join(pair)'),),
)

LAST_LOST = Misconception(
    "last-symbol-lost",
    "the last symbol of the word is lost",
    "A loop over all pairs ends one symbol early. Look at what becomes of a last symbol that was "
    "not merged.",
    (change("place < len(word)", "place < len(word) - 1"),),
)

MERGE = (
    OVERLAPPING,
    SECOND_STAYS,
    FIRST_ONLY,
    FROM_RIGHT,
    EITHER_ORDER,
    INSIDE,
    SAME_TEXT,
    LAST_LOST,
    Misconception(
        "first-symbol-only",
        "only the first symbol of the pair is compared with the word",
        "Two symbols have to stand there, side by side: 'on' is no place for the pair (o, x). "
        "Compare both.",
        (
            FIRST_COMPARED,
            FIRST_COMPARED + HERE_JOINED,
            change(STANDS_HERE, "word[place] == pair[0]"),
        ),
    ),
    Misconception(
        "beyond-the-end",
        "the code looks at the symbol after the last one",
        "The last symbol has no neighbour to its right. Look at which index word[i + 1] reaches.",
        (
            change(STANDS_HERE, "word[place] == pair[0] and word[place + 1] == pair[1]"),
            change(STANDS_HERE, "(word[place], word[place + 1]) == pair"),
        ),
        r"^IndexError",
    ),
    Misconception(
        "every-other-pair",
        "only pairs that start at an even place are merged",
        "A pair may start anywhere. Go on by one symbol where nothing was merged, by two where "
        "something was.",
        (
            change(
                "merged.append(word[place])\n            place += 1",
                "merged += word[place : place + 2]\n            place += 2",
            ),
        ),
    ),
    Misconception(
        "pair-kept",
        "the pair itself becomes the symbol, not its text",
        "A symbol is a string: ('a', 'b') becomes 'ab'.",
        (change(SYMBOL, "pair"),),
    ),
    Misconception(
        "with-separator",
        "something stands between the two symbols that were merged",
        "The symbols of a word, put together, always spell the word. Join with nothing between.",
        (*(change(SYMBOL, f"pair[0] + {mark!r} + pair[1]") for mark in (" ", "_", "##")),),
    ),
    Misconception(
        "not-a-tuple",
        "the result is not a tuple",
        "Words are keys of a dictionary in the next tasks, and a list cannot be one. Return a "
        "tuple of strings.",
        (
            change(MERGED, "merged"),
            change(MERGED, '"".join(merged)'),
            change(MERGED, '" ".join(merged)'),
        ),
    ),
    Misconception(
        "nothing-merged",
        "the word comes back as it was",
        "A tuple cannot be changed, and replace() gives a new string. Look at whether what you "
        "made is what you return.",
        (change(MERGED, "word"),),
    ),
)


# --- train_bpe -------------------------------------------------------------------------------


def _written_out(piece: Callable[..., Any], answer: str) -> Change:
    """Put the code of a piece before the answer that calls it, so that it can be changed."""
    start = f"def {answer}("
    return change(start, f"{inspect.getsource(piece)}\n\n{start}") + change(
        f"reference.{piece.__name__}", piece.__name__
    )


COUNT_WRITTEN_OUT = _written_out(count_pairs, "train_bpe")
MERGE_WRITTEN_OUT = _written_out(merge_pair, "train_bpe")
SPELLED, RANKED = "tuple(word): count for", "(counts[pair], pair)"
BEST = f"max(counts, key=lambda pair: {RANKED})"
STOP = "        if not counts:\n            break\n"
REPLACED = "        words = {reference.merge_pair(w, best): n for w, n in words.items()}\n"

END_OF_WORD = Misconception(
    "end-of-word",
    "a mark for the end of the word takes part",
    "The paper adds one, and many programs do; this task does not. A word starts as its "
    "characters and nothing else.",
    (),
)

TRAIN = (
    Misconception(
        "not-weighted",
        "the pairs are not weighted by the words' counts",
        "A word that comes 100 times holds each of its pairs 100 times. Look at where the counts "
        "of the words come in.",
        (change(SPELLED, "tuple(word): 1 for"),),
    ),
    Misconception(
        "ties-as-they-came",
        "between equally frequent pairs the one that was seen first wins",
        "max(counts, key=counts.get) leaves ties to the order of the dictionary. Compare the count "
        "and then the pair; the greatest pair wins.",
        (
            change(BEST, "max(counts, key=counts.get)"),
            change(BEST, "max(reversed(counts), key=counts.get)"),
        ),
    ),
    Misconception(
        "ties-smallest",
        "between equally frequent pairs the smallest wins",
        "The contract wants the lexicographically greatest pair. Look at the sign in the sort key, "
        "or at min and max.",
        (change(BEST, "min(counts, key=lambda pair: (-counts[pair], pair))"),),
    ),
    Misconception(
        "ties-by-the-joined-text",
        "between equally frequent pairs the joined texts or their lengths are compared",
        "The pairs themselves are compared, symbol by symbol: ('ab', 'a') is greater than "
        "('a', 'c'), though 'aba' is smaller than 'ac'.",
        (
            change(RANKED, '(counts[pair], "".join(pair))'),
            change(RANKED, '(counts[pair], len("".join(pair)), pair)'),
            change(RANKED, '(counts[pair], -len("".join(pair)), pair)'),
        ),
    ),
    with_wrong(FIRST_ROUND, change(REPLACED, "        return merges\n")),
    Misconception(
        "words-not-merged",
        "the words stay as they were, so the same pair wins each time",
        "After each merge the pairs are counted in the merged words. Look at whether the merged "
        "words take the place of the old ones.",
        (change(REPLACED, ""),),
    ),
    Misconception(
        "counted-once",
        "the pairs are counted once, at the beginning",
        "A merge makes new pairs and takes others away. Count again after each merge.",
        (
            *(
                change(
                    "    merges = []",
                    "    counts = reference.count_pairs(words)\n"
                    f"    return sorted(counts, key={key}, reverse=True)[:num_merges]",
                )
                for key in (f"lambda pair: {RANKED}", "counts.get")
            ),
        ),
    ),
    Misconception(
        "rarest-pair",
        "the rarest pair is merged, not the most frequent one",
        "Merging should make the text as short as it can. Look at min and max, or at the sign.",
        (
            change("max(counts", "min(counts"),
            change(BEST, "min(counts, key=counts.get)"),
            change(RANKED, "(-counts[pair], pair)"),
        ),
    ),
    Misconception(
        "greatest-pair-only",
        "the greatest pair is merged, however rare it is",
        "max(counts) compares the pairs only. Compare their counts first.",
        (change(BEST, "max(counts)"),),
    ),
    with_wrong(
        END_OF_WORD,
        change(SPELLED, '(*word, "</w>"): count for'),
        change(SPELLED, '(*word[:-1], word[-1] + "</w>"): count for'),
        change(SPELLED, '(*word, "_"): count for'),
    ),
    Misconception(
        "stops-at-one",
        "the training stops at pairs that come only once",
        "This task stops early only when no pair is left, and a pair that comes once is one.",
        (change("if not counts:", "if max(counts.values(), default=0) < 2:"),),
    ),
    Misconception(
        "one-too-few",
        "the number of merges is not num_merges",
        "Count the merges by hand for num_merges=1. Look at the range of the loop and at its end.",
        (
            change("range(num_merges)", "range(num_merges - 1)"),
            change("range(num_merges)", "range(num_merges + 1)"),
        ),
    ),
    Misconception(
        "no-pair-left",
        "the code fails when no pair is left",
        "Small texts run out of pairs before num_merges. Stop then, and return what there is.",
        (change(STOP, ""),),
        r"empty (sequence|iterable)|IndexError|NoneType|argument is empty",
    ),
    Misconception(
        "repeats-the-last",
        "when no pair is left, the last merge is repeated",
        "The list of merges is then shorter than num_merges. Look at what the loop does when the "
        "counts are empty.",
        (
            change(
                STOP,
                "        if not counts:\n            merges += merges[-1:]\n            continue\n",
            ),
        ),
    ),
    Misconception(
        "once-a-word",
        "a pair that comes twice in a word is counted once",
        "Each place counts. Look for a set of pairs, or a test whether the pair is in the word.",
        (COUNT_WRITTEN_OUT + ONCE_A_WORD,),
    ),
    *after(COUNT_WRITTEN_OUT, NO_OVERLAPS),
    Misconception(
        "across-words",
        "the end of one word and the beginning of the next are counted as a pair",
        "Pairs stand inside one word. Keep the words apart.",
        (
            COUNT_WRITTEN_OUT + ACROSS_WORDS,
            COUNT_WRITTEN_OUT + IN_ONE_ROW,
        ),
    ),
    *after(MERGE_WRITTEN_OUT, OVERLAPPING, SECOND_STAYS),
    with_wrong(FIRST_ONLY, MERGE_WRITTEN_OUT + MERGED_ONCE),
    *after(MERGE_WRITTEN_OUT, INSIDE),
    Misconception(
        "symbols-returned",
        "the result holds the new symbols, not the pairs that were merged",
        "'abc' could come from ('a', 'bc') or from ('ab', 'c'). To apply a merge one has to know "
        "which; return the pairs.",
        (
            change("append(best)", 'append("".join(best))'),
            change("append(best)", 'append(" ".join(best))'),
        ),
    ),
    Misconception(
        "pairs-not-tuples",
        "the pairs are lists, not tuples",
        "A pair is looked up in dictionaries, and a list cannot be a key. Make each pair a tuple.",
        (change("append(best)", "append(list(best))"),),
    ),
    Misconception(
        "dictionary-returned",
        "the result is a dictionary, not a list",
        "The order of the merges is what was learned. Return the pairs in a list, first merge "
        "first.",
        (
            change("return merges", "return {pair: rank for rank, pair in enumerate(merges)}"),
            change("return merges", 'return {pair: "".join(pair) for pair in merges}'),
        ),
    ),
    with_wrong(
        CHANGES_INPUT,
        change(
            "    return merges",
            "    for word, symbols in zip(list(word_counts), words):\n"
            '        word_counts[" ".join(symbols)] = word_counts.pop(word)\n    return merges',
        ),
        change("    return merges", "    word_counts.clear()\n    return merges"),
    ),
)


# --- bpe_encode ------------------------------------------------------------------------------

IN_TURN, PIECES = "for pair in merges:", "list(symbols)"
JOINED = "        symbols = reference.merge_pair(symbols, pair)\n"
KNOWN = change(
    "    symbols = tuple(word)",
    '    known = {each for pair in merges for each in "".join(pair)}\n    symbols = tuple(word)',
)
PIECES_WRITTEN_OUT = _written_out(merge_pair, "bpe_encode")


def _by_place(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Merge the leftmost pair that has been learned, whatever its rank."""
    symbols = list(word)
    while found := [place for place, pair in enumerate(pairwise(symbols)) if pair in merges]:
        symbols[found[0] : found[0] + 2] = ["".join(symbols[found[0] : found[0] + 2])]
    return symbols


def _one_sweep(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Go through the word once, and join each symbol to what stands before it where that fits."""
    symbols: list[str] = []
    for character in word:
        if symbols and (symbols[-1], character) in merges:
            symbols[-1] += character
        else:
            symbols.append(character)
    return symbols


def _longest_first(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Take the longest known piece from the beginning."""
    known = {"".join(pair) for pair in merges}
    symbols = []
    while word:
        size = next((n for n in range(len(word), 1, -1) if word[:n] in known), 1)
        symbols.append(word[:size])
        word = word[size:]
    return symbols


def _longest_last(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Take the longest known piece from the end."""
    known = {"".join(pair) for pair in merges}
    symbols: list[str] = []
    while word:
        size = next((n for n in range(len(word), 1, -1) if word[-n:] in known), 1)
        symbols.insert(0, word[-size:])
        word = word[:-size]
    return symbols


BPE_ENCODE = (
    Misconception(
        "by-place",
        "the first pair from the left that is in merges is merged, whatever its rank",
        "Training merged the pair with the lowest rank everywhere before the next one. Look for "
        "the lowest rank in the whole word before you merge.",
        (_by_place, _one_sweep),
    ),
    Misconception(
        "longest-piece",
        "the word is cut into the longest pieces that are known",
        "That is how WordPiece works. Byte-pair encoding starts from characters and applies the "
        "merges by rank, which need not give the longest pieces.",
        (_longest_first, _longest_last),
    ),
    Misconception(
        "last-learned-first",
        "the merges that were learned last are applied first",
        "They need the symbols that earlier merges make. Start with the first of the list.",
        (
            change(IN_TURN, "for pair in merges[::-1]:"),
            change(
                IN_TURN,
                "while found := [pair for pair in merges if pair in pairwise(symbols)]:\n"
                "        pair = found[-1]",
            ),
        ),
    ),
    Misconception(
        "merges-sorted",
        "the merges are applied in another order than that of the list",
        "The place in the list is the rank. Do not sort the merges or take them through a set.",
        (
            change(IN_TURN, "for pair in sorted(merges):"),
            change(IN_TURN, 'for pair in sorted(merges, key=lambda pair: -len("".join(pair))):'),
        ),
    ),
    Misconception(
        "stops-at-a-miss",
        "the first merge that does not fit ends it all",
        "Most merges do not stand in a given word. Go on to the next one; look for break.",
        (
            change(
                JOINED, f"        if pair not in pairwise(symbols):\n            break\n{JOINED}"
            ),
        ),
    ),
    Misconception(
        "one-merge",
        "only one merge is applied",
        "After a merge look again: the new symbol may be part of the next merge. Look for return "
        "or break inside the loop.",
        (
            change(
                JOINED, f"        if pair in pairwise(symbols):\n    {JOINED}            break\n"
            ),
            change(JOINED, f"{JOINED}        break\n"),
        ),
    ),
    Misconception(
        "each-merge-from-the-start",
        "each merge begins with the characters again, so that only the last one shows",
        "What one merge makes is what the next one gets. Look at what merge_pair is handed.",
        (change("merge_pair(symbols, pair)", "merge_pair(tuple(word), pair)"),),
    ),
    Misconception(
        "most-frequent-first",
        "the pair that comes most often in the word is merged first, whatever its rank",
        "Pairs are counted in training. To cut a word nothing is counted: of the pairs that stand "
        "in it, the one that was learned first comes first.",
        (
            change(
                IN_TURN,
                "while found := [pair for pair in pairwise(symbols) if pair in merges]:\n"
                "        pair = max(found, key=found.count)",
            ),
        ),
    ),
    with_wrong(FIRST_ONLY, PIECES_WRITTEN_OUT + MERGED_ONCE),
    *after(PIECES_WRITTEN_OUT, OVERLAPPING, SECOND_STAYS, FROM_RIGHT, INSIDE),
    with_wrong(LAST_LOST, change(PIECES, "list(symbols[:-1])")),
    Misconception(
        "unknown-left-out",
        "characters that the merges do not know are left out",
        "The pieces, put together, spell the word. What no merge holds comes back as it is.",
        (
            KNOWN + change(PIECES, "[each for each in symbols if set(each) <= known]"),
            KNOWN + change("tuple(word)", "tuple(each for each in word if each in known)"),
        ),
    ),
    Misconception(
        "unknown-replaced",
        "characters that the merges do not know are replaced",
        "What no merge holds comes back as it is; to put an unknown token is the business of the "
        "vocabulary.",
        (
            *(
                KNOWN
                + change(PIECES, f"[each if set(each) <= known else {unk!r} for each in symbols]")
                for unk in ("<unk>", "[UNK]")
            ),
        ),
    ),
    Misconception(
        "unknown-raises",
        "characters that the merges do not know raise an error",
        "A word may hold anything. Ask whether a pair has a rank before you look the rank up.",
        (
            KNOWN
            + change("known = {each for", "known = {each: each for")
            + change("tuple(word)", "tuple(known[each] for each in word)"),
        ),
        r"^(KeyError|ValueError)",
    ),
    with_wrong(
        END_OF_WORD,
        change("tuple(word)", '(*word, "</w>")'),
        change(PIECES, '[*symbols[:-1], symbols[-1] + "</w>"]'),
    ),
    Misconception(
        "with-marks",
        "the pieces carry marks that the word does not have",
        "'##' and '@@' belong to other tokenizers. The pieces, put together, spell the word.",
        (
            change(PIECES, '[symbols[0], *("##" + each for each in symbols[1:])]'),
            change(PIECES, '[*(each + "@@" for each in symbols[:-1]), symbols[-1]]'),
        ),
    ),
    Misconception(
        "characters",
        "no merge is applied: the pieces are single characters",
        "A tuple or string cannot be changed, so a merge gives a new one. Look at whether you keep "
        "it, and at whether pairs are compared with pairs.",
        (change("symbols = reference", "reference"),),
    ),
    Misconception(
        "ids-returned",
        "the result holds numbers, not strings",
        "To turn pieces into ids is the next step, and the vocabulary's. Return the strings.",
        (
            KNOWN
            + change(
                "    return",
                '    names = [*sorted(known), *map("".join, merges)]\n'
                "    ids = {name: number for number, name in enumerate(names)}\n    return",
            )
            + change(PIECES, "[ids.get(each, len(ids)) for each in symbols]"),
        ),
    ),
    with_wrong(AS_TEXT, change(PIECES, '" ".join(symbols)'), change(PIECES, '"".join(symbols)')),
    with_wrong(CHANGES_INPUT, change("    return", "    merges.clear()\n    return")),
)


# --- find the bug: merging in words written with spaces ---------------------------------------

WORD_MERGED = 'symbols = reference.merge_pair(tuple(word.split(" ")), pair)'
KEPT = 'merged[" ".join(symbols)] = count'
WORD_WRITTEN_OUT = _written_out(merge_pair, "merge_words")


def _in_text(word: str) -> Change:
    """Merge in the text of a word: put `put` for `find`."""
    return change(WORD_MERGED, 'find, put = " ".join(pair), "".join(pair)') + change(
        KEPT, f"merged[{word}] = count"
    )


def _by_pattern(pattern: str) -> Change:
    """Merge by a regular expression."""
    return _in_text(f"re.sub({pattern}, lambda _: put, word)") + change(
        "    merged = {}", "    import re\n\n    merged = {}"
    )


BUG = (
    with_wrong(INSIDE, _in_text("word.replace(find, put)")),
    Misconception(
        "right-border-only",
        "the first symbol of the pair is found at the end of a longer one",
        "The right border is watched now, the left one is not: in 'low e' the text 'w e' stands, "
        "but no symbol is w.",
        (
            _by_pattern(r're.escape(find) + r"(?!\S)"'),
            _in_text('f"{word} ".replace(f"{find} ", f"{put} ")[:-1]'),
        ),
    ),
    Misconception(
        "left-border-only",
        "the second symbol of the pair is found at the beginning of a longer one",
        "The left border is watched now, the right one is not: in 'w er' the text 'w e' stands, "
        "but no symbol is e.",
        (
            _by_pattern(r'r"(?<!\S)" + re.escape(find)'),
            _in_text('f" {word}".replace(f" {find}", f" {put}")[1:]'),
        ),
    ),
    Misconception(
        "word-boundary",
        "\\b is no border between symbols",
        "It stands between a letter and what is no letter. Symbols such as '.' and '-' have none "
        "around them, and symbols with one inside have too many.",
        (_by_pattern(r'r"\b" + re.escape(find) + r"\b"'),),
    ),
    Misconception(
        "not-escaped",
        "a symbol such as '.' or '+' is read as part of the regular expression",
        "In a pattern '.' stands for any character. Look for re.escape.",
        (
            _by_pattern(r'r"(?<!\S)" + find + r"(?!\S)"'),
            _by_pattern(r'r"\b" + find + r"\b"'),
            _by_pattern("find"),
        ),
        r"^(re\.)?(error|PatternError): ",
    ),
    Misconception(
        "spaces-used-up",
        "of two pairs side by side only the first is merged",
        "A search for ' a b ' uses up the space that the next pair needs as its border. Look ahead "
        "without using up, or compare symbol by symbol.",
        (_in_text('f" {word} ".replace(f" {find} ", f" {put} ").strip()'),),
    ),
    Misconception(
        "ends-forgotten",
        "at the beginning and at the end of a word nothing is merged",
        "There is no space before the first symbol, and none behind the last one.",
        (_in_text('word.replace(f" {find} ", f" {put} ")'),),
    ),
    with_wrong(
        FIRST_ONLY,
        WORD_WRITTEN_OUT + MERGED_ONCE,
        _in_text("word.replace(find, put, 1)"),
    ),
    *after(WORD_WRITTEN_OUT, OVERLAPPING, SECOND_STAYS, FROM_RIGHT),
    with_wrong(EITHER_ORDER, WORD_WRITTEN_OUT + IN_EITHER_ORDER + HERE_JOINED),
    *after(WORD_WRITTEN_OUT, SAME_TEXT, LAST_LOST),
    Misconception(
        "other-words-lost",
        "words that do not hold the pair are lost",
        "They stay in the dictionary as they are: the next pair may stand in them.",
        (change(KEPT, f'if " ".join(symbols) != word:\n            {KEPT}'),),
    ),
    Misconception(
        "old-words-stay",
        "the old form of a merged word stays beside the new one",
        "Each word is in the dictionary once. Start from an empty dictionary, or take the old key "
        "away.",
        (change("merged = {}", "merged = dict(words)"),),
    ),
    Misconception(
        "counts-lost",
        "the counts are not those of the words",
        "A merge changes how a word is written and not how often it comes.",
        (change("] = count", "] = 1"),),
    ),
    Misconception(
        "spaces-lost",
        "the symbols of a word are no longer apart",
        "The spaces between symbols stay, but for those inside the merged pair.",
        (change('" ".join(symbols)', '"".join(symbols)'),),
    ),
    Misconception(
        "keys-not-text",
        "the keys are tuples of symbols, not strings",
        "The form of the dictionary stays as it was: a string, with one space between symbols.",
        (change('" ".join(symbols)', "symbols"),),
    ),
    with_wrong(
        CHANGES_INPUT,
        change("merged = {}", "merged = words")
        + change("words.items()", "list(words.items())")
        + change("] = count", "] = words.pop(word)"),
    ),
)


# --- shortest_leak ---------------------------------------------------------------------------

SIZES, STARTS = "range(1, len(text) + 1)", "range(len(text) - size + 1)"
SLICE = "text[start : start + size]"
COMES_BACK = "decode(encode(piece)) != piece"
NO_LEAK = '    return ""\n'
WHOLE = "decode(encode(text))"
SIZE_BY_SIZE = f"    for size in {SIZES}:\n        for start in {STARTS}:\n"


def _at_once(source: str) -> Change:
    """Return before the loops."""
    return change(SIZE_BY_SIZE, f"    {source}\n{SIZE_BY_SIZE}")


def _instead(pieces: str) -> Change:
    """Go through other pieces."""
    return change(SIZE_BY_SIZE, f"    for piece in {pieces}:\n        if True:\n") + change(
        f"            piece = {SLICE}\n", ""
    )


LEAK = (
    Misconception(
        "whole-text-returned",
        "the whole text is tried, and nothing smaller",
        "That something is lost is half an answer; a short piece says what it is. Try the pieces, "
        "and the short ones first.",
        (_at_once(f'return text if {WHOLE} != text else ""'),),
    ),
    Misconception(
        "whole-text-first",
        "the search gives up where the whole text comes back",
        "A piece by itself may fare otherwise: the spaces at its ends were in the middle before.",
        (_at_once(f'if {WHOLE} == text:\n        return ""'),),
    ),
    Misconception(
        "single-characters",
        "only single characters are tried",
        "Two spaces may become one while each space by itself comes back. Longer pieces come next.",
        (change(SIZES, "range(1, 2)"), _instead("text")),
    ),
    Misconception(
        "words-only",
        "only words are tried",
        "split drops the white space, and with it what a tokenizer may have lost. A piece may "
        "begin and end anywhere.",
        (_instead("text.split()"), _instead("sorted(text.split(), key=len)")),
    ),
    Misconception(
        "from-the-start-only",
        "the piece begins at the first place, and drags along what has nothing to do with the leak",
        "Of each size try all places before you go on to the next size. Look at which loop is the "
        "outer one.",
        (
            change(SLICE, "text[:size]"),
            change(
                SIZE_BY_SIZE,
                "    for start in range(len(text)):\n"
                "        for size in range(1, len(text) - start + 1):\n",
            ),
        ),
    ),
    Misconception(
        "longest-first",
        "the longest piece is found, not the shortest",
        "Begin with pieces of one character.",
        (change(SIZES, "range(len(text), 0, -1)"),),
    ),
    Misconception(
        "last-of-the-shortest",
        "of equally short pieces the last is taken",
        "The first one counts. Look for a search from the right, or a name that is assigned again.",
        (change(STARTS, "reversed(range(len(text) - size + 1))"),),
    ),
    Misconception(
        "ends-missed",
        "the last piece of each size is not tried, or the whole text is not",
        "A range ends before its second number. Of n characters there are n - size + 1 pieces of a "
        "size, and the text itself is one of size n.",
        (change(SIZES, "range(1, len(text))"), change(STARTS, "range(len(text) - size)")),
    ),
    Misconception(
        "what-came-back",
        "the result is what came back, not what went in",
        "It is a piece of the text that is asked for.",
        (change("return piece", "return decode(encode(piece))"),),
    ),
    Misconception(
        "lengths-only",
        "only the lengths are compared",
        "'A' and 'a' have the same length. Compare the strings.",
        (change(COMES_BACK, "len(decode(encode(piece))) != len(piece)"),),
    ),
    Misconception(
        "ids-compared",
        "the ids of the piece are compared with those of what came back",
        "What is lost on the first way is not lost again on the second: the ids agree. Compare "
        "the text before with the text after.",
        (change(COMES_BACK, "encode(decode(encode(piece))) != encode(piece)"),),
    ),
    Misconception(
        "forgiving-comparison",
        "white space or case is left out of the comparison",
        "They are part of the text. Look for strip, split, lower and casefold.",
        (
            change(COMES_BACK, "decode(encode(piece)).strip() != piece.strip()"),
            change(COMES_BACK, "decode(encode(piece)).split() != piece.split()"),
            change(COMES_BACK, "decode(encode(piece)).lower() != piece.lower()"),
        ),
    ),
    Misconception(
        "nothing-for-no-leak",
        "where every piece comes back, there is no result",
        "The result is a string in any case: the empty one where nothing leaks.",
        (change(NO_LEAK, ""),),
        r"it returned None",
    ),
)

MISCONCEPTIONS = {
    "word_tokenize": WORDS,
    "build_vocab": VOCAB,
    "encode_tokens": ENCODE,
    "count_pairs": COUNT,
    "merge_pair": MERGE,
    "train_bpe": TRAIN,
    "bpe_encode": BPE_ENCODE,
    "find_the_bug": BUG,
    "shortest_leak": LEAK,
}
