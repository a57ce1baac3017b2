"""The tasks of the assignment "tokenizers"."""

from __future__ import annotations

from functools import partial

from transformer_checks.assignments.misconceptions import misconceptions_of
from transformer_checks.assignments.tokenizers import answers
from transformer_checks.assignments.tokenizers.cases import (
    DECODE,
    ENCODE,
    bpe_cases,
    bug_cases,
    encode_cases,
    leak_cases,
    merge_cases,
    pair_cases,
    train_cases,
    vocab_cases,
    word_cases,
)
from transformer_checks.assignments.tokenizers.properties import (
    each_merge_is_the_most_frequent,
    ids_count_from_zero,
    one_id_a_token,
    symbols_spell_the_word,
    the_piece_is_a_leak,
    tokens_hold_the_text,
)
from transformer_checks.task import FunctionTask, Task

HERE = "transformer_checks.tokenizers"
THERE = "transformer_ref.tokenizers"
UNCHANGED = "The arguments are not changed."
MISCONCEPTIONS = misconceptions_of("tokenizers")
TASKS: tuple[Task, ...] = (
    FunctionTask(
        key="tokenizers.word_tokenize",
        stub="word_tokenize(text)",
        contract=(
            "text: a str; returns a list of str, the tokens in their order. A token is a run of "
            "letters and digits (str.isalnum) or one single other character that is not white "
            "space. Case is kept. '_' and combining accents are not tried."
        ),
        returns=("tokens",),
        form=list[str],
        reference=answers.word_tokenize,
        cases=word_cases,
        properties=(tokens_hold_the_text,),
        forbidden=(f"{HERE}.word_tokenize", f"{THERE}.Tokenizer.tokenize"),
        misconceptions=MISCONCEPTIONS["word_tokenize"],
    ),
    FunctionTask(
        key="tokenizers.build_vocab",
        stub="build_vocab(tokens, min_freq, specials)",
        contract=(
            "tokens: a list of str; specials: a list of different str; returns a dict from token "
            "to id. The specials come first, in the order given; then the tokens that come at "
            "least min_freq times, by falling frequency, ties alphabetical as sorted() has it. "
            f"Ids count from 0. A special found in the text keeps its id. {UNCHANGED}"
        ),
        returns=("vocab",),
        form=dict[str, int],
        reference=answers.build_vocab,
        cases=vocab_cases,
        properties=(ids_count_from_zero,),
        forbidden=(
            f"{HERE}.build_vocab",
            f"{THERE}.WordTokenizer.train",
            f"{THERE}.CharTokenizer.train",
        ),
        misconceptions=MISCONCEPTIONS["build_vocab"],
    ),
    FunctionTask(
        key="tokenizers.encode_tokens",
        stub="encode_tokens(tokens, vocab, unk)",
        contract=(
            "tokens: a list of str; vocab: a dict from token to id; unk: a token, a key of vocab; "
            f"returns a list of int: one id a token, that of unk for a token not in vocab. "
            f"{UNCHANGED}"
        ),
        returns=("ids",),
        form=list[int],
        reference=answers.encode_tokens,
        cases=encode_cases,
        properties=(one_id_a_token,),
        forbidden=(
            f"{HERE}.encode_tokens",
            f"{THERE}.Tokenizer.convert_tokens_to_ids",
            f"{THERE}.Tokenizer.encode",
            "transformer_ref.vocabulary.Vocabulary.encode",
        ),
        misconceptions=MISCONCEPTIONS["encode_tokens"],
    ),
    FunctionTask(
        key="tokenizers.count_pairs",
        stub="count_pairs(words)",
        contract=(
            "words: a dict from a word, a tuple of symbols, to how often it comes; returns a dict "
            "(any kind) from each pair of neighbours, a tuple of two symbols, to how often it "
            "comes: weighted by the word's count, overlaps counted ('aaa' has two 'aa'). "
            f"{UNCHANGED}"
        ),
        returns=("pairs",),
        form=dict[tuple[str, str], int],
        reference=answers.count_pairs,
        cases=pair_cases,
        forbidden=(f"{HERE}.count_pairs",),
        misconceptions=MISCONCEPTIONS["count_pairs"],
    ),
    FunctionTask(
        key="tokenizers.merge_pair",
        stub="merge_pair(word, pair)",
        contract=(
            "word: a tuple of at least one symbol; pair: a tuple of two symbols; returns a tuple: "
            "the word with the two joined to one symbol wherever they stand side by side, from "
            "left to right, without overlap."
        ),
        returns=("symbols",),
        form=tuple[str, ...],
        reference=answers.merge_pair,
        cases=merge_cases,
        properties=(partial(symbols_spell_the_word, name="symbols"),),
        forbidden=(f"{HERE}.merge_pair",),
        misconceptions=MISCONCEPTIONS["merge_pair"],
    ),
    FunctionTask(
        key="tokenizers.train_bpe",
        stub="train_bpe(word_counts, num_merges)",
        contract=(
            "word_counts: a dict from word, a str, to how often it comes; returns a list of pairs, "
            "tuples of two symbols, in the order in which they are merged. Words start as their "
            "characters, without a mark for the end. Each step takes the most frequent pair, of "
            "equally frequent ones the lexicographically greatest, and merges it in all words. "
            f"Fewer than num_merges only when no pair is left. {UNCHANGED}"
        ),
        returns=("merges",),
        form=list[tuple[str, str]],
        reference=answers.train_bpe,
        cases=train_cases,
        properties=(each_merge_is_the_most_frequent,),
        forbidden=(
            f"{HERE}.train_bpe",
            f"{THERE}.learn_merges",
            f"{THERE}.BPETokenizer.train",
        ),
        misconceptions=MISCONCEPTIONS["train_bpe"],
    ),
    FunctionTask(
        key="tokenizers.bpe_encode",
        stub="bpe_encode(word, merges)",
        contract=(
            "word: a str of at least one character; merges: a list of pairs that train_bpe could "
            "have learned; returns a list of str. The word starts as its characters; the merges "
            "are applied, the lowest place in the list first, until none fits. Unknown characters "
            f"come back as they are. {UNCHANGED}"
        ),
        returns=("pieces",),
        form=list[str],
        reference=answers.bpe_encode,
        cases=bpe_cases,
        properties=(partial(symbols_spell_the_word, name="pieces"),),
        forbidden=(
            f"{HERE}.bpe_encode",
            f"{THERE}.Tokenizer.tokenize",
            f"{THERE}.Tokenizer.encode",
        ),
        misconceptions=MISCONCEPTIONS["bpe_encode"],
    ),
    FunctionTask(
        key="tokenizers.find_the_bug",
        stub="merge_words(words, pair)",
        contract=(
            "words: a dict from a word, its symbols with one space between them, to how often it "
            "comes; pair: a tuple of two symbols; returns a dict of the same form: the two joined "
            "wherever they stand side by side as whole symbols, from left to right, without "
            f"overlap. Words without the pair stay. {UNCHANGED}"
        ),
        returns=("words",),
        form=dict[str, int],
        reference=answers.merge_words,
        cases=bug_cases,
        forbidden=(f"{HERE}.merge_words",),
        misconceptions=MISCONCEPTIONS["find_the_bug"],
    ),
    FunctionTask(
        key="tokenizers.shortest_leak",
        stub="shortest_leak(encode, decode, text)",
        contract=(
            "encode takes a str and returns a list of int, decode takes such a list and returns a "
            "str; text: a str of 1 to 60 characters; returns a str: the shortest piece text[i:j] "
            "that is not the same after encode and decode, called on this piece alone; of equally "
            "short pieces the first in the text; '' if every piece, the whole text included, comes "
            "back. Case, white space and every character count."
        ),
        returns=("piece",),
        form=str,
        reference=answers.shortest_leak,
        cases=leak_cases,
        properties=(the_piece_is_a_leak,),
        forbidden=(f"{HERE}.shortest_leak",),
        misconceptions=MISCONCEPTIONS["shortest_leak"],
        makers={"encode": ENCODE, "decode": DECODE},
    ),
)
