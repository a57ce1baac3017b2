"""Quick questions: the source is in order, its numbers are computed, the page says what it says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch.nn import functional as F

from book._extensions.questions import Option, faults, read_options
from tests.site.conftest import open_page
from tools.build_book import ROOT
from transformer_ref.applications.g2p import Speller
from transformer_ref.attention import scaled_dot_product_attention
from transformer_ref.experiments import attention as attention_example
from transformer_ref.experiments import blocks as blocks_example
from transformer_ref.experiments import decoding as decoding_example
from transformer_ref.experiments import embeddings as embeddings_example
from transformer_ref.experiments import sequences as sequences_example
from transformer_ref.experiments import tokenizers as tokenizers_example
from transformer_ref.experiments import training as training_example
from transformer_ref.experiments import where_next as where_next_example
from transformer_ref.experiments.depth import reach
from transformer_ref.gpt import GPT, GPTConfig
from transformer_ref.layers import EncoderLayer
from transformer_ref.masks import causal_mask, padding_mask, target_mask
from transformer_ref.metrics import corpus_bleu, phoneme_error_rate, word_error_rate
from transformer_ref.modern import rotate
from transformer_ref.positions import frequencies, sinusoidal_encoding
from transformer_ref.tokenizers import BPETokenizer, learn_merges
from transformer_ref.training import noam_learning_rate
from transformer_ref.tuning import (
    LoRALinear,
    answer_loss,
    dpo_loss,
    group_advantages,
    kl_penalty,
)

QUESTION = re.compile(
    r"^::::\{dropdown\} (?P<title>[^\n]+)\n:::\{answer\} (?P<kind>\w+)\n(?P<options>.*?)^:::$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Question:
    """A question of a chapter that takes an answer, as its notebook has it."""

    slug: str
    title: str
    kind: str
    options: list[Option]


def questions_of(path: Path) -> list[Question]:
    """Read the questions of a page."""
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    found = QUESTION.finditer(text)
    return [
        Question(path.stem, each["title"], each["kind"], read_options(each["options"].splitlines()))
        for each in found
    ]


CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
QUESTIONS = [question for path in CHAPTERS for question in questions_of(path)]
EVERY_CHAPTER = pytest.mark.parametrize("slug", [path.stem for path in CHAPTERS])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_questions_with_one_right_answer_and_named_mistakes(path: Path) -> None:
    questions = questions_of(path)
    assert path.read_text(encoding="utf-8").count("{answer}") == len(questions) >= 2
    for question in questions:
        assert faults(question.kind, question.options) == [], question.title
        for option in question.options:
            assert option.is_right or re.search(r"[.?!]$", option.said), option


def test_the_right_answer_has_no_usual_place() -> None:
    places = [[option.is_right for option in q.options].index(True) for q in QUESTIONS]
    assert max(places.count(place) for place in set(places)) < len(places) / 2


def option(text: str, *, right: bool = False, said: str = "No.") -> Option:
    return Option(text, right, said)


@pytest.mark.parametrize(
    ("kind", "options", "complaint"),
    [
        ("choice", [option("a"), option("b")], "crossed"),
        ("choice", [option("a", right=True), option("b", right=True)], "crossed"),
        ("choice", [option("a", right=True)], "no wrong answer"),
        ("choice", [option("a", right=True), option("b", said="")], "nothing is said"),
        ("choice", [option("a", right=True), option("a")], "twice"),
        ("number", [option("1", right=True), option("two")], "no number"),
        ("number", [option("0.58", right=True), option("0.57")], "too near"),
        ("text", [option("a", right=True), option("b")], "kind"),
    ],
)
def test_a_question_that_is_not_in_order_is_refused(
    kind: str, options: list[Option], complaint: str
) -> None:
    assert complaint in "; ".join(faults(kind, options))


def test_a_line_of_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="what is this"):
        read_options(["- [x] 1", "what is this"])


# ---- the numbers of answers, computed ------------------------------------------------------------


def first_state() -> list[Any]:
    step = sequences_example.by_hand()
    product, b = torch.tensor([1.0, 1.0]) @ step["W"], step["b"]
    return [product + b, step["ton"][0], product.tanh(), (product - b).tanh()]


def steps_of_a_batch() -> list[Any]:
    words, letters = 64, 20
    return [letters, words * letters, words, letters - 1, 1]


def rows_of_oil() -> list[Any]:
    step = embeddings_example.by_hand()
    v, oil, error, rate = step["v"], step["u"][1], step["errors"][1], embeddings_example.STEP
    assert error == rate == 0.5
    after = step["u_after"][1]
    return [oil + rate * error * v, oil - error * v, oil - rate * error * oil, after]


def weights_of_cat() -> list[Any]:
    step = attention_example.by_hand()
    query, key, value, products = step["Q"][:1], step["K"], step["V"], step["products"][0]
    _, weights = scaled_dot_product_attention(query, key, value)
    size = query.shape[-1]
    return [
        (products / size).softmax(dim=-1),
        products.softmax(dim=-1),
        weights[0],
        (products.abs() / math.sqrt(size)).softmax(dim=-1),
    ]


def row_of_position_five() -> list[Any]:
    def row(angles: Any) -> torch.Tensor:
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten()

    angles = 5 * frequencies(4)
    right = sinusoidal_encoding(6, 4)[5]
    torch.testing.assert_close(row(angles), right, check_dtype=False)
    swapped = torch.stack([angles.cos(), angles.sin()], dim=-1).flatten()
    wrong_exponent = torch.tensor([5.0, 5 / 10_000**0.25])
    sines_first = torch.cat([angles.sin(), angles.cos()])
    return [sines_first, right, swapped, row(wrong_exponent), row(torch.deg2rad(angles))]


def mask_of_three() -> list[Any]:
    ids = torch.tensor([[5, 0, 7]])
    columns, triangle = padding_mask(ids, 0).expand(1, 1, 3, 3)[0, 0], causal_mask(3)
    right = target_mask(ids, 0)[0, 0]
    rows = columns.mT
    return [mask.int().flatten() for mask in (right & rows, triangle.reshape(3, 3), columns, right)]


def token_past_empty_sublayers() -> list[Any]:
    token, found = torch.tensor([1.0, 1.0, 5.0, 5.0]), {}
    for norm in ("pre", "post"):
        layer = EncoderLayer(4, 2, 8, norm=norm).eval()
        for part in (layer.self_attention, layer.feed_forward):
            for parameter in part.parameters():
                torch.nn.init.zeros_(parameter)
        found[norm] = layer(token[None, None]).detach().flatten()
    return [torch.zeros(4), torch.cat([found["pre"], found["post"]]), token, found["post"]]


def word_without_a_unit() -> list[Any]:
    step = blocks_example.by_hand()
    hidden = step["hidden"][1].clone()
    hidden[4] = 0
    change = hidden @ step["W_2"]
    total = step["first_norm"][1] + change
    unbiased = (total - total.mean()) / total.std()
    return [unbiased, F.layer_norm(change, (4,)), total, F.layer_norm(total, (4,))]


def questions_of_a_batch() -> list[Any]:
    targets = [[5, 6], [5, 6, 7, 8, 9]]
    pad, end = Speller.phonemes.pad_id, Speller.phonemes.eos_id
    labels = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor([*target, end]) for target in targets], batch_first=True, padding_value=pad
    )
    tokens = sum(map(len, targets))
    return [tokens, (labels != pad).sum().item(), labels.numel(), 2 * max(map(len, targets))]


def fourth_step_of_adam() -> list[Any]:
    weight = torch.nn.Parameter(torch.ones(()))
    optimizer = torch.optim.Adam([weight], lr=0.1, betas=training_example.BETAS)
    before = 0.0
    for gradient in (*training_example.GRADIENTS, 0.0):
        before = weight.item()
        weight.grad = torch.tensor(gradient)
        optimizer.step()
    return [None, None, (before - weight.item()) / 0.1]


def peak_of_noam() -> list[Any]:
    ratio = noam_learning_rate(200, 64, 200) / noam_learning_rate(400, 64, 400)
    assert ratio == pytest.approx(math.sqrt(2))
    return [None, [ratio**2], None]  # the choice says sqrt 2, whose square is the number in it


def sentences_of_a_beam(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    table = {**decoding_example.FOLLOWS, "own": {"a": 0.8, "cat": 0.2}}
    monkeypatch.setattr(decoding_example, "FOLLOWS", table)
    last = decoding_example.beam_by_hand(2)[-1].kept[0]
    assert last.tokens == ("I", "have", "a", "cat", "<eos>")

    def product(sentence: str) -> float:
        tokens = ["<bos>", *sentence.split(), "<eos>"]
        return math.prod(table[a][b] for a, b in pairwise(tokens))

    assert round(product("I own cat"), 3) == 0.065
    assert round(product("I have got a cat"), 3) == 0.175
    return [None, None, None, None]


def bleu_of_five_words() -> list[Any]:
    said, wanted = "the the cat sat on", "the cat sat on the mat"
    shares = [5 / 5, 3 / 4, 2 / 3, 1 / 2]
    penalty = math.exp(1 - 6 / 5)
    counted_once = penalty * math.prod([4 / 5, *shares[1:]]) ** 0.25
    return [
        corpus_bleu([said], [wanted]).score / 100,
        math.prod(shares) ** 0.25,
        penalty,
        penalty * math.prod(shares),
        counted_once,
    ]


def perplexity_of_three() -> list[Any]:
    p = torch.tensor([1.0, 0.5, 0.25])
    loss = -p.log().mean()
    return [1 / p.prod(), p.log().mean().exp(), loss.exp(), 1 / p.mean(), loss, loss / math.log(2)]


def parameters_of_a_small_gpt() -> list[Any]:
    def count(**changes: Any) -> int:
        sizes = {"d_model": 4, "num_heads": 2, "num_layers": 1, "d_ff": 8, "max_len": 6}
        model = GPT(GPTConfig(20, **sizes, **changes))
        names = dict(model.named_parameters())
        counted.append({name: weight.numel() for name, weight in names.items()})
        return sum(counted[-1].values())

    counted: list[dict[str, int]] = []
    right = count(tie_weights=True)
    biases = sum(size for name, size in counted[0].items() if "bias" in name and "norm" not in name)
    untied, fixed = count(tie_weights=False), count(tie_weights=True, positions="sinusoidal")
    return [untied, fixed, right - 2 * 4, right - biases, right]


def layers_that_span() -> list[Any]:
    def fewest(dilation: int) -> int:
        layers = 1
        while max(reach(5, layers, dilation)[-1]) * 2 + 1 < 101:
            layers += 1
        return layers

    right = [fewest(1), 3, fewest(3)]
    return [
        [100 / 5, 3, math.ceil(100 / 15)],
        [math.ceil(101 / 4), 3, math.ceil(101 / 12)],
        [right[0], 3, right[2] - 1],
        right,
    ]


def scores_of_five_words() -> list[Any]:
    said = ["K AA L IH JH", "F IY AA T OW", "N AA CH OW", "A B C", "D E F"]
    listed = ["K AH L AA ZH", "F IY AE T OW", "N AA CH OW", "A B C", "D E F"]
    hypotheses = [text.split() for text in said]
    references = [[text.split()] for text in listed]
    per = 100 * phoneme_error_rate(hypotheses, references)
    wer = 100 * word_error_rate(hypotheses, references)
    before = (phoneme_error_rate(hypotheses[:3], references[:3]), 2 / 3)
    each = [phoneme_error_rate([h], [r]) for h, r in zip(hypotheses, references, strict=True)]
    mean = 100 * sum(each) / len(each)
    return [[100 * rate for rate in before], [mean, wer], [per, wer], [per, 100 - wer]]


def product_at_one_place() -> list[Any]:
    query, key = map(torch.tensor, (where_next_example.QUERY, where_next_example.KEY))

    def turned(arrow: torch.Tensor, place: int) -> torch.Tensor:
        angle = torch.tensor(place * where_next_example.OMEGA)
        rows = [angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]
        return torch.stack([torch.stack(row) for row in rows]) @ arrow

    both = turned(query, 7) @ turned(key, 7)
    shown = turned(query, 5) @ turned(key, 1)
    return [turned(query, 7) @ key, query @ turned(key, 7), shown, both, 7 * both]


def cache_of_a_large_llama() -> list[Any]:
    sizes = where_next_example.Sizes(64 * 128, 80, 64, 8, 28_672, 32_000)
    shared, full = (
        where_next_example.resources(replace(sizes, num_sets=sets)).cache / 1024 for sets in (8, 64)
    )
    return [shared, full, shared / 2, 1024 * shared]


def cards_for_training() -> list[Any]:
    one = where_next_example.resources(where_next_example.PUBLISHED["Llama 3 8B"])
    everything = one.weights + one.gradients + one.optimizer
    return [
        math.ceil(70 * held / one.parameters / 80)
        for held in (everything, one.weights, one.optimizer)
    ] + [None]


def partner_among_halves() -> list[Any]:
    one = torch.zeros(1, 8)
    one[0, 1] = 1
    place = torch.tensor([1])
    turned = [rotate(one, place, pairing)[0] for pairing in ("neighbors", "halves")]
    neighbor, half = (x.nonzero()[:, 0].tolist() for x in turned)
    return [sum(neighbor) - 1, 2, sum(half) - 1]


def loss_of_two_rows() -> list[Any]:
    costs = torch.tensor([[3.0, 0.2, 0.3, 0.1], [2.0, 4.0, 1.4, 9.0]])
    ids = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    prompts = torch.tensor([2, 3])
    # Id 1, which every label is, gets the probability that costs this; id 2 gets the rest.
    logits = torch.stack([torch.full_like(costs, -99), -costs, (1 - (-costs).exp()).log()], dim=-1)

    def loss(rows: slice, lengths: torch.Tensor) -> torch.Tensor:
        return answer_loss(logits[rows], ids[rows], lengths[rows], pad_id=0)

    right, every = loss(slice(2), prompts), loss(slice(2), torch.ones(2, dtype=torch.int64))
    of_rows = sum(loss(slice(row, row + 1), prompts) for row in range(2)) / 2
    return [every, of_rows, right, 4 * right, loss(slice(2), prompts + 1)]


def price_of_a_token() -> list[Any]:
    now, start = torch.tensor([[0.2]]).log(), torch.tensor([[0.05]]).log()
    mask = torch.ones(1, 1, dtype=torch.bool)
    right = kl_penalty(now, start, mask)
    return [right, now - start, kl_penalty(start, now, mask), right + 2 * (start - now)]


def advantage_of_one_in_four() -> list[Any]:
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    apart = rewards[0, 0] - rewards.mean()
    spread = rewards.std(correction=0)
    right = group_advantages(rewards)[0, 0]
    return [apart, apart / rewards.std(), right, rewards[0, 0], apart / spread**2]


def loss_of_a_pair() -> list[Any]:
    better, worse, start = torch.tensor([-1.0]), torch.tensor([-3.0]), torch.zeros(1)
    return [
        dpo_loss(better, worse, start, start, beta=0.5),
        dpo_loss(worse, better, start, start, beta=0.5),
        dpo_loss(start, start, start, start, beta=0.5),
        dpo_loss(better, worse, start, start, beta=1.0),
    ]


def numbers_of_lora() -> list[Any]:
    def trained(rank: int) -> list[int]:
        layer = LoRALinear(torch.nn.Linear(64, 256), rank, alpha=1.0)
        return [weight.numel() for weight in layer.parameters() if weight.requires_grad]

    return [64 * 256, sum(trained(4)), 2 * sum(trained(4)), sum(trained(1)), *trained(4)]


# By the chapter and the first words of the question: a value for each answer, in their order, where
# one can be computed. Each wrong number comes from the mistake that is named with it.
COMPUTED: dict[tuple[str, str], Callable[..., list[Any]]] = {
    ("sequences", "By hand"): first_state,
    ("sequences", "A recurrent layer"): steps_of_a_batch,
    ("embeddings", "By hand"): rows_of_oil,
    ("attention", "By hand"): weights_of_cat,
    ("positions", "By hand"): row_of_position_five,
    ("masking", "By hand"): mask_of_three,
    ("blocks", "All weights"): token_past_empty_sublayers,
    ("blocks", "By hand"): word_without_a_unit,
    ("training", "A batch holds"): questions_of_a_batch,
    ("training", "By hand"): fourth_step_of_adam,
    ("training", "You halve"): peak_of_noam,
    ("gpt", "By hand"): perplexity_of_three,
    ("gpt", "How many parameters"): parameters_of_a_small_gpt,
    ("tuning", "Two rows"): loss_of_two_rows,
    ("tuning", "A sampled token"): price_of_a_token,
    ("tuning", "By hand: four answers"): advantage_of_one_in_four,
    ("tuning", "A pair"): loss_of_a_pair,
    ("tuning", "LoRA with"): numbers_of_lora,
    ("decoding", "By hand: what is the BLEU"): bleu_of_five_words,
    ("depth", "By hand"): layers_that_span,
    ("capstone", "By hand"): scores_of_five_words,
    ("where_next", "By hand"): product_at_one_place,
    ("where_next", "Llama 2 70B has"): cache_of_a_large_llama,
    ("where_next", "A model has 70"): cards_for_training,
    ("where_next", "A head has 8"): partner_among_halves,
}
# Numbers that are no results: how many layers a thought takes.
COUNTED_IN_THOUGHT = {("depth", "Each token's embedding")}


def question_of(slug: str, begin: str) -> Question:
    (found,) = [q for q in QUESTIONS if q.slug == slug and q.title.startswith(begin)]
    return found


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)


@pytest.mark.parametrize(("slug", "begin"), list(COMPUTED))
def test_the_numbers_of_an_answer_are_computed(slug: str, begin: str) -> None:
    options = question_of(slug, begin).options
    computed = COMPUTED[slug, begin]()
    assert len(computed) == len(options)
    for option_, values in zip(options, computed, strict=True):
        if values is None:
            continue
        written = numbers_in(option_.text)
        expected = torch.as_tensor(values, dtype=torch.float64).flatten().tolist()
        assert len(written) == len(expected), option_
        for text, value in zip(written, expected, strict=True):
            half = 0.5 * 10.0 ** -len(text.partition(".")[2])
            assert float(text) == pytest.approx(value, abs=half + 1e-5), option_


def test_every_number_to_type_is_computed() -> None:
    known = [*COMPUTED, *COUNTED_IN_THOUGHT]
    numbers = [q for q in QUESTIONS if q.kind == "number"]
    assert len(numbers) > 5
    forgotten = [
        q.title
        for q in numbers
        if not any(q.slug == slug and q.title.startswith(begin) for slug, begin in known)
    ]
    assert forgotten == []


def test_the_sentence_of_the_beam_is_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences_of_a_beam(monkeypatch)
    (right,) = [o for o in question_of("decoding", "By hand: which").options if o.is_right]
    assert right.text == "*I have a cat*"


def test_the_cuts_are_those_of_the_tokenizer() -> None:
    (right,) = [o for o in question_of("tokenizers", "By hand").options if o.is_right]
    merges = learn_merges(tokenizers_example.WORD_COUNTS, tokenizers_example.NUM_MERGES)
    cuts = [BPETokenizer(merges).tokenize(word) for word in ("cold", "elder")]
    assert right.text == " and ".join(", ".join(f"`{s}`" for s in cut) for cut in cuts)
    (right,) = [o for o in question_of("tokenizers", "Which merge").options if o.is_right]
    second = learn_merges(tokenizers_example.WORD_COUNTS | {"new": 3}, 2)[1]
    assert right.text == " with ".join(f"`{symbol}`" for symbol in second)


# ---- the page -----------------------------------------------------------------------------------

# A formula is compared by its source, which the browser has drawn; all else letter for letter.
PLAIN = """(node) => {
  const copy = node.cloneNode(true);
  copy.querySelectorAll(".math, .quick-mark").forEach((one) => one.remove());
  return copy.textContent.replace(/\\s+/g, " ").trim();
}"""


def plain(markdown: str) -> str:
    """Return what Markdown says, without its formulas and marks; Sphinx sets curly quotes."""
    text = re.sub(r"[*`]", "", re.sub(r"\$[^$]*\$", "", markdown))
    text = re.sub(
        r'"([^"]*)"', "\N{LEFT DOUBLE QUOTATION MARK}\\1\N{RIGHT DOUBLE QUOTATION MARK}", text
    )
    return re.sub(r"\s+", " ", text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")).strip()


def boxes_of(page: Page) -> dict[str, Locator]:
    """Return the questions of a page by what they ask."""
    boxes = page.locator(".quick-question")
    return {box.locator(".quick-text").evaluate(PLAIN): box for box in boxes.all()}


def tell(box: Locator, question: Question, option_: Option) -> str:
    """Give an answer; return what the page says."""
    if question.kind == "number":
        field = box.get_by_role("textbox")
        field.fill(option_.text)
        field.press("Enter")
    else:
        position = question.options.index(option_)
        box.locator(".quick-choice").nth(position).press("Enter")
    return str(box.get_by_role("status").evaluate(PLAIN))


@pytest.mark.browser
@EVERY_CHAPTER
def test_the_site_shows_what_the_source_says(tab: Page, address: str, slug: str) -> None:
    open_page(tab, f"{address}/book/{slug}.html")
    boxes = boxes_of(tab)
    questions = [question for question in QUESTIONS if question.slug == slug]
    assert sorted(boxes) == sorted(plain(question.title) for question in questions)
    for question in questions:
        box = boxes[plain(question.title)]
        shown = [choice.evaluate(PLAIN) for choice in box.locator(".quick-choice").all()]
        if question.kind == "choice":
            assert shown == [plain(option_.text) for option_ in question.options]
        for option_ in question.options:
            verdict = "Right." if option_.is_right else "Not yet."
            expected = f"{verdict} {plain(option_.said)}".strip()
            assert tell(box, question, option_) == expected, question.title


@pytest.mark.browser
@EVERY_CHAPTER
def test_nothing_is_given_away_before(tab: Page, address: str, slug: str) -> None:
    open_page(tab, f"{address}/book/{slug}.html")
    seen = " ".join(tab.locator("body").inner_text().split())
    for question in (q for q in QUESTIONS if q.slug == slug):
        for option_ in question.options:
            longest = max(re.split(r"\$[^$]*\$|[*`]", option_.said), key=len).strip()
            assert not longest or longest not in seen
    expect(tab.locator(".quick-question details[open]")).to_have_count(0)
    expect(tab.locator(".quick-choice[data-verdict], .quick-choice[data-right]")).to_have_count(0)
    said = tab.locator(".quick-question").get_by_role("status").all_inner_texts()
    assert set(said) <= {""}


@pytest.fixture
def parameters(tab: Page, address: str) -> Locator:
    """Open the question about the parameters of a GPT, whose answer is a number."""
    open_page(tab, f"{address}/book/gpt.html")
    return tab.locator(".quick-question", has_text="How many parameters")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (" 284 ", "Right."),
        ("284,0", "Right."),
        ("568/2", "Right."),
        ("285", "Not yet, and no usual mistake"),
        ("-284", "Not yet, and no usual mistake"),
        ("many", "Please type a number"),
        ("", "Please type a number"),
        ("1/0", "Please type a number"),
    ],
)
def test_a_number_is_read_as_people_write_it(parameters: Locator, typed: str, said: str) -> None:
    field = parameters.get_by_label("Your answer")
    field.fill(typed)
    parameters.get_by_role("button", name="Check").click()
    expect(parameters.get_by_role("status")).to_contain_text(said)
    unreadable = str(said.startswith("Please")).lower()
    expect(field).to_have_attribute("aria-invalid", unreadable)


@pytest.mark.browser
@pytest.mark.parametrize("typed", ["1280", "1,280", "1,280.0"])
def test_a_comma_may_part_the_thousands(tab: Page, address: str, typed: str) -> None:
    open_page(tab, f"{address}/book/tuning.html")
    question = tab.locator(".quick-question", has_text="LoRA with")
    question.get_by_label("Your answer").fill(typed)
    question.get_by_role("button", name="Check").click()
    expect(question.get_by_role("status")).to_contain_text("Right.")


@pytest.mark.browser
def test_a_number_may_be_off_by_rounding(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/decoding.html")
    box = tab.locator(".quick-question", has_text="what is the BLEU of")
    field = box.get_by_label("Your answer (to 2 digits after the point)")
    for typed, verdict in (("0.59", "right"), ("0.5795", "right"), ("0.6", "wrong")):
        field.fill(typed)
        field.press("Enter")
        expect(box.get_by_role("status")).to_have_attribute("data-verdict", verdict)


@pytest.mark.browser
def test_the_answer_is_opened_by_keyboard(parameters: Locator) -> None:
    fold = parameters.locator("details")
    expect(fold.locator(".sd-summary-content")).to_be_hidden()
    parameters.get_by_role("button", name="Check").focus()
    parameters.page.keyboard.press("Tab")
    parameters.page.keyboard.press("Enter")
    expect(fold.get_by_text("Final norm 8.")).to_be_visible()


@pytest.mark.browser
@pytest.mark.parametrize("slug", ["attention", "gpt"])
def test_the_form_fits_a_phone_and_a_finger(browser: Browser, address: str, slug: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    open_page(page, f"{address}/book/{slug}.html")
    page.evaluate("setFormulas()")
    for control in page.locator(".quick-question :is(button, input)").all():
        box = control.bounding_box()
        assert box is not None
        assert box["height"] >= 32
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.close()


@pytest.mark.browser
def test_a_formula_in_a_verdict_is_typeset(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/attention.html")
    box = tab.locator(".quick-question", has_text="By hand, with the root: what are the weights")
    box.locator(".quick-choice").first.click()
    expect(box.get_by_role("status").locator("mjx-container")).to_have_count(1)


@pytest.mark.browser
def test_without_javascript_a_question_is_a_dropdown(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/book/gpt.html")
    fold = page.locator("details", has_text="How many parameters does a GPT")
    expect(fold.locator("summary")).to_contain_text("How many parameters does a GPT")
    fold.locator("summary").click()
    expect(fold.get_by_text("Final norm 8.")).to_be_visible()
    assert "token matrix twice" not in page.locator("body").inner_text()
    context.close()


def test_the_script_is_loaded_where_there_are_questions_and_nowhere_else(site: Path) -> None:
    for path in sorted((site / "book").rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        assert ("_static/questions.js" in page) == ('<template class="quick-answer"' in page), path
