"""Finding what followed, with one layer and with several; what layers hold and what they cost.

The chapter does the two steps by hand, and trains models of one and two layers for seconds.
``make depth`` has more seeds, more time and width for the single layer, and a task that takes a
step more. About six minutes on one core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from transformer_ref.applications.g2p import Speller, make_examples
from transformer_ref.attention import record_attention, scaled_dot_product_attention
from transformer_ref.batching import Example, pad_batch
from transformer_ref.data import load_cmudict
from transformer_ref.experiments.results import write_results
from transformer_ref.experiments.sequences import products_on_the_way
from transformer_ref.gpt import GPT, GPTConfig
from transformer_ref.masks import causal_mask
from transformer_ref.model import Transformer
from transformer_ref.training import split_target

SYMBOLS, LENGTH = 12, 24
NAMES = "abcdefghijkl"  # of the symbols
# Questions of the example in which the reader of the page hides keys. At all three the trained
# models use two keys and no other, with each seed and on each processor that was tried.
ASKED_AT = (12, 19, 22)
NOT_ASKED = -100  # what cross_entropy leaves out

TEN_SEEDS, THREE_SEEDS = range(10), range(3)
LAYERS, LAYERS_FOR_TWO = (1, 2, 3), (1, 2, 3, 4)
WIDTHS, STEPS = (48, 96), (120, 500, 2000, 8000)
STEPS_FOR_TWO, STEPS_ALONE = 600, 1500
BATCH, PEAK, WARM_UP = 64, 0.006, 20

COST_LENGTH, COST_SYMBOLS = 128, 64

# The example by hand: a start, which is no letter, and four letters; the last "a" asks.
TOKENS, LETTERS = ("\N{BULLET}", "a", "k", "b", "a"), ("a", "b", "k")
SHARP = 20.0  # so large that a softmax gives nearly all to one key


def by_hand() -> dict[str, Tensor]:
    """Return each step of a previous-token head and an induction head, set by hand.

    Returns:
        letters (5, 3) and places (5, 5), what a token knows at first; look_back (5, 5), which turns
        a place into its query; of layer 0 back_products and back_weights (5, 5), before (5, 3);
        of layer 1 products and weights (5, 5), found (5, 3).
    """
    letters = torch.tensor([[float(token == letter) for letter in LETTERS] for token in TOKENS])
    places, causal = torch.eye(len(TOKENS)), causal_mask(len(TOKENS))[0, 0]
    look_back = SHARP * torch.diag(torch.ones(len(TOKENS) - 1), -1)
    back = places @ look_back
    before, back_weights = scaled_dot_product_attention(back, places, letters, causal)
    found, weights = scaled_dot_product_attention(SHARP * letters, before, letters, causal)
    return {
        "letters": letters, "places": places, "look_back": look_back,
        "back_products": back @ places.T, "back_weights": back_weights, "before": before,
        "products": SHARP * letters @ before.T, "weights": weights, "found": found,
    }  # fmt: skip


def reach(kernel_size: int, num_layers: int, dilation: int = 1) -> list[set[int]]:
    """Follow one output back through convolutions.

    Args:
        kernel_size: an odd number of places, the middle one the output's own.
        num_layers: all alike, with stride 1.
        dilation: places from one of them to the next.

    Returns:
        The places that reach the output at place 0: itself, and then before each layer, from the
        last one to the first.
    """
    half = kernel_size // 2
    steps = range(-half * dilation, half * dilation + 1, dilation)
    seen = [{0}]
    for _ in range(num_layers):
        seen.append({place + step for place in seen[-1] for step in steps})
    return seen


def recall_batch(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw sequences in which each symbol comes twice; what followed the first time is asked.

    Args:
        count: B, how many.

    Returns:
        The ids, the labels (NOT_ASKED where a symbol comes for the first time), and the place
        where the answer stands: int64, (B, LENGTH) each.
    """
    in_order = torch.arange(LENGTH).expand(count, -1) % SYMBOLS
    ids = in_order.gather(1, torch.rand(count, LENGTH).argsort(dim=1))
    same = ids[:, :, None] == ids[:, None, :]
    earlier = same & torch.ones(LENGTH, LENGTH).tril(-1).bool()
    answer_at = earlier.int().argmax(dim=-1) + 1  # one after the first time
    is_asked = earlier.any(dim=-1)
    labels = ids.gather(1, answer_at).masked_fill(~is_asked, NOT_ASKED)
    return ids, labels, answer_at


def second_step(labels: Tensor, answer_at: Tensor) -> Tensor:
    """Labels for twice the step: the label at the place of the first answer, (B, LENGTH)."""
    at_the_answer = labels.gather(1, answer_at)
    return at_the_answer.masked_fill(labels == NOT_ASKED, NOT_ASKED)


def share_right(logits: Tensor, labels: Tensor) -> float:
    """The share of what is asked that is right: logits (B, T, V) against labels (B, T)."""
    asked = labels != NOT_ASKED
    return (logits.argmax(dim=-1) == labels)[asked].float().mean().item()


def share_by_guessing(ids: Tensor, labels: Tensor) -> float:
    """What naming any earlier symbol gets right: ids and labels (B, LENGTH)."""
    guess = (torch.rand(ids.shape) * torch.arange(LENGTH)).long()
    return (ids.gather(1, guess) == labels)[labels != NOT_ASKED].float().mean().item()


def new_reader(num_layers: int, d_model: int = 48, outputs: int = SYMBOLS) -> GPT:
    """A small GPT of one head a layer; larger first embeddings shorten the waiting."""
    sizes: dict[str, Any] = {"d_model": d_model, "d_ff": d_model, "max_len": LENGTH, "num_heads": 1}
    config = GPTConfig(outputs, num_layers=num_layers, dropout=0.0, tie_weights=False, **sizes)
    model = GPT(config)
    for table in (model.embedding, model.positions):
        assert isinstance(table.weight, Tensor)
        nn.init.normal_(table.weight, std=0.5)
    return model


def train_reader(
    num_layers: int, seed: int, d_model: int = 48, steps: int = 120
) -> tuple[GPT, Tensor]:
    """Train on new sequences at every step.

    Returns:
        The model, and the share that was right, a mean over every ten steps.
    """
    torch.manual_seed(seed)
    model, shares = new_reader(num_layers, d_model), []
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = PEAK * min(1, step / WARM_UP)
        ids, labels, _ = recall_batch(BATCH)
        logits = model(ids)
        loss = F.cross_entropy(logits.transpose(1, 2), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shares.append(share_right(logits, labels))
    return model, torch.tensor(shares).view(-1, 10).mean(dim=1)


def maps_of(model: GPT, ids: Tensor) -> list[Tensor]:
    """Return the attention weights (B, T, T) of each layer of a reader, for ids (B, T)."""
    with torch.inference_mode(), record_attention(model) as recorded:
        model(ids)
    return [weights[:, 0] for weights in recorded.values()]  # its only head


@contextmanager
def keys_hidden(model: GPT, layer: int, forbidden: Tensor) -> Iterator[None]:
    """Hide keys from the queries of one layer while the context lasts.

    Args:
        model: a trained reader.
        layer: whose attention is restricted.
        forbidden: (B, T, T) bool, the keys that each query may not see.
    """
    mask = causal_mask(forbidden.shape[-1]) & ~forbidden[:, None]

    def change_mask(module: nn.Module, args: Any, kwargs: Any) -> Any:
        return (*args[:3], mask), {**kwargs, "is_causal": False}

    attention = model.get_submodule(f"layers.{layer}.self_attention")
    handle = attention.register_forward_pre_hook(change_mask, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def share_without(model: GPT, layer: int, forbidden: Tensor, ids: Tensor, labels: Tensor) -> float:
    """What is right where one layer may not look at some keys.

    Args:
        model: a trained reader.
        layer: whose attention is restricted.
        forbidden: (B, T, T) bool, the keys that each query may not see.
        ids: (B, T).
        labels: (B, T).
    """
    with torch.inference_mode(), keys_hidden(model, layer, forbidden):
        return share_right(model(ids), labels)


def hide_each_key(model: GPT, ids: Tensor) -> dict[str, Tensor]:
    """Hide one key after another from all queries of one layer, and read the last answer.

    Args:
        model: a trained reader of L layers.
        ids: (T,), up to the token that asks.

    Returns:
        answer (V,), the probabilities with nothing hidden; without (L, T, V), those with a key
        hidden in a layer; weights (L, T, T), the attention weights with nothing hidden.
    """
    length = len(ids)
    each_alone = torch.eye(length).bool()[:, None].expand(-1, length, -1)  # (key, T, T)
    rows = ids.expand(length, -1)
    without = []
    with torch.inference_mode():
        answer = model(ids[None])[0, -1].softmax(dim=-1)
        for layer in range(len(model.layers)):
            with keys_hidden(model, layer, each_alone):
                without.append(model(rows)[:, -1].softmax(dim=-1))
    weights = torch.cat(maps_of(model, ids[None]))
    return {"answer": answer, "without": torch.stack(without), "weights": weights}


def keys_to_hide(model: GPT, ids: Tensor, labels: Tensor, places: Sequence[int]) -> dict[str, Any]:
    """What the moving figure of the chapter shows of some questions of one sequence.

    Args:
        model: a trained reader.
        ids: (T,).
        labels: (T,).
        places: where there is a question.

    Returns:
        symbols, the names of the ids; for each question the letters up to it, the right id, and
        what :func:`hide_each_key` finds.
    """
    questions = []
    for place in places:
        letters = [NAMES[i] for i in ids[: place + 1].tolist()]
        found = hide_each_key(model, ids[: place + 1])
        questions.append({"letters": letters, "right": int(labels[place]), **found})
    return {"symbols": NAMES, "questions": questions}


def decoder_states(model: Transformer, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Collect what enters the decoder and what each of its layers writes, with true inputs.

    Args:
        model: reads letters and says phonemes, with padding 0.
        examples: N phonemes and ends in all.

    Returns:
        The states (layers + 1, N, D) and the right phonemes (N,); the shortest words come first.
    """
    examples = sorted(examples, key=lambda example: len(example[0]))
    # Like lengths together: little padding.
    batches = [examples[start : start + 128] for start in range(0, len(examples), 128)]
    states, labels = zip(*(_states_of_batch(model, batch) for batch in batches), strict=True)
    return torch.cat(states, dim=1), torch.cat(labels)


def _states_of_batch(model: Transformer, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    source = pad_batch([letters for letters, _ in examples], pad_id=0)
    target = pad_batch([spoken for _, spoken in examples], pad_id=0)
    inputs, labels = split_target(target)
    states: list[Tensor] = []

    def record(module: nn.Module, args: Any, output: Tensor) -> None:
        if not states:
            states.append(args[0])  # what enters the first layer
        states.append(output)

    handles = [layer.register_forward_hook(record) for layer in model.decoder.layers]
    with torch.no_grad():
        model(source, inputs)
    for handle in handles:
        handle.remove()
    real = labels != 0
    return torch.stack(states)[:, real], labels[real]


def share_named(logits: Tensor, labels: Tensor) -> float:
    """The share of labels (N,) that get the largest logit (N, V)."""
    return (logits.argmax(dim=-1) == labels).float().mean().item()


def train_probe(states: Tensor, labels: Tensor) -> nn.Linear:
    """Train a linear reader of phonemes: states (N, D), labels (N,)."""
    torch.manual_seed(0)
    probe = nn.Linear(states.shape[1], len(Speller.phonemes))
    optimizer = torch.optim.Adam(probe.parameters(), lr=0.01, fused=True)
    for _ in range(5):
        for rows in torch.randperm(len(states)).split(256):
            loss = F.cross_entropy(probe(states[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return probe


def probe_all(model: Transformer) -> list[float]:
    """Train a probe after each layer on words of train; the share that it names of dev."""
    known, known_labels = decoder_states(model, make_examples(load_cmudict("train")[::40]))
    unseen, labels = decoder_states(model, make_examples(load_cmudict("dev")))
    known, unseen = (F.layer_norm(x, x.shape[-1:]) for x in (known, unseen))
    shares = []
    for here, there in zip(known, unseen, strict=True):
        probe = train_probe(here, known_labels)
        with torch.no_grad():
            shares.append(share_named(probe(there), labels))
    return shares


def new_stack(num_layers: int, d_model: int) -> GPT:
    """A GPT of this shape, to see what its layers cost."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"num_heads": 4, "d_ff": 4 * d_model, "max_len": COST_LENGTH}
    return GPT(GPTConfig(COST_SYMBOLS, d_model, num_layers=num_layers, dropout=0.0, **sizes))


def kept_for_gradient(model: nn.Module, ids: Tensor) -> float:
    """MiB that a pass keeps for the gradient, without the parameters."""
    own = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = model(ids)  # held until the end: what it keeps must not be given back
    total = sum(sizes.values()) / 2**20
    del output
    return total


def costs(num_layers: int, d_model: int) -> dict[str, float]:
    """What a stack costs for one sequence, and for each token in the cache; by what is counted."""
    model, ids = new_stack(num_layers, d_model), torch.randint(COST_SYMBOLS, (1, COST_LENGTH))
    with FlopCounterMode(display=False) as counter, record_attention(model):
        logits = model(ids)
    return {
        "parameters, millions": sum(weight.numel() for weight in model.layers.parameters()) / 1e6,
        "operations, billions": counter.get_total_flops() / 1e9,
        "kept, MiB": kept_for_gradient(model, ids),
        "products in a row": products_on_the_way(logits),
        "cache, numbers a token": 2 * num_layers * d_model,
    }


def milliseconds(num_layers: int, d_model: int, batch: int, length: int) -> float:
    """Processor time of a pass, the least of six."""
    model = new_stack(num_layers, d_model)
    ids, times = torch.randint(COST_SYMBOLS, (batch, length)), []
    with torch.inference_mode():
        for _ in range(6):
            start = time.process_time()
            model(ids)
            times.append(time.process_time() - start)
    return 1000 * min(times)


def seeds_run(layers: int, seeds: Sequence[int] = TEN_SEEDS) -> dict[str, Any]:
    """Train as the chapter does, with more seeds; what is right over the last ten steps."""
    right = [round(train_reader(layers, seed)[1][-1].item(), 4) for seed in seeds]
    return {"layers": layers, "right": right}


def width_run(d_model: int, steps: Sequence[int] = STEPS) -> dict[str, Any]:
    """Train a single layer of some width for longer; what is right after each of `steps`."""
    _, shares = train_reader(1, 0, d_model, max(steps))
    return {"d_model": d_model, "right": [round(shares[n // 10 - 1].item(), 4) for n in steps]}


def two_step_run(layers: int, seed: int, steps: int, first_too: bool = True) -> list[float]:
    """Train on the second step, beside the first or alone; what is right of each at the end."""
    torch.manual_seed(seed)
    model = new_reader(layers, outputs=2 * SYMBOLS)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98))
    tail: list[list[float]] = []
    for step in range(1, steps + 1):
        fall = 2 * (1 - step / (steps + 1))
        optimizer.param_groups[0]["lr"] = PEAK * min(1.0, step / WARM_UP, fall)
        ids, labels, answer_at = recall_batch(BATCH)
        wanted = [labels, second_step(labels, answer_at)]
        logits = model(ids).split(SYMBOLS, dim=-1)
        pairs = list(zip(logits, wanted, strict=True))[0 if first_too else 1 :]
        losses = [F.cross_entropy(part.transpose(1, 2), asked) for part, asked in pairs]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()
        if step > steps - 10:
            tail.append([share_right(part, asked) for part, asked in pairs])
    return [round(sum(column) / len(column), 4) for column in zip(*tail, strict=True)]


def all_runs() -> Iterator[tuple[str, Any]]:
    """Train all: the name of a part of the results, and what came out of one run."""
    for layers in LAYERS:
        yield "seeds", seeds_run(layers)
    for layers in LAYERS_FOR_TWO:
        right = [two_step_run(layers, seed, STEPS_FOR_TWO) for seed in THREE_SEEDS]
        yield "steps_by_layers", {"layers": layers, "right": right}
    alone = [two_step_run(3, seed, STEPS_ALONE, first_too=False) for seed in THREE_SEEDS]
    yield "second_step_alone", {"layers": 3, "right": [share for (share,) in alone]}
    for d_model in WIDTHS:
        yield "widths", width_run(d_model)


def main() -> None:
    """Train all, print how far each gets, and write the results."""
    torch.set_num_threads(1)
    results: dict[str, Any] = {"steps": list(STEPS)}
    for part, result in all_runs():
        print(part, result, flush=True)
        if part == "second_step_alone":
            results[part] = result
        else:
            results.setdefault(part, []).append(result)
    write_results("depth", results)


if __name__ == "__main__":
    main()
