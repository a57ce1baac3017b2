"""What the chapter on sequences does by hand; waiting, gradients, and how much a vector holds.

``make sequences`` trains the copying models of the chapter for longer, on longer strings and with
larger vectors, to see what that helps, each with three seeds. About 20 minutes on one core; a run
that is done is kept in runs/experiments/, so that a second call continues after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.nn import functional as F

from transformer_ref.attention import MultiHeadAttention
from transformer_ref.embeddings import TokenEmbedding
from transformer_ref.experiments.results import kept, write_results
from transformer_ref.positions import SinusoidalPositions

LETTERS = 26  # a to z; the id 26 is the begin token

LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)
STEPS = (500, 1000, 2000, 4000, 8000)
SEEDS = (0, 1, 2)

SIZE = 64  # features of the layers that are compared by their gradients
RECALL_LETTERS = 8

# The example by hand: the vectors of three letters, a recurrent network of two features that reads
# "not", and the additive score, with which a decoder compares itself with each of its states.
VECTORS = {"n": (1.0, 0.0), "o": (0.0, 1.0), "t": (1.0, 1.0)}
W = ((1.0, 0.0), (-1.0, 1.0))
U = ((0.0, -1.0), (1.0, 0.0))
B = (0.0, -0.5)
W_A = ((0.0, 1.0), (1.0, 0.0))
U_A = ((0.0, 1.0), (2.0, 0.0))
V_A = (-1.0, 1.0)

# A decoder by hand that begins with the last of these states and writes "not" again; the numbers
# of its output are scores of the letters in the order of VECTORS.
W_D = ((-1.0, 0.0), (-1.0, 1.0))
U_D = ((-1.0, -1.0), (1.0, -1.0))
W_O = ((2.0, -2.0, 0.0), (-1.0, -1.0, 2.0))


def recurrent_step(x: Tensor, state: Tensor, w: Tensor, u: Tensor, b: Tensor) -> Tensor:
    """Return the next state of a recurrent network.

    Args:
        x: (..., D), the vector of the next token.
        state: (..., N), the state before.
        w: (D, N), times the token.
        u: (N, N), times the state.
        b: (N,), added.

    Returns:
        (..., N), of x's dtype.

    Source: Elman 1990.
    """
    return torch.tanh(x @ w + state @ u + b)


def unroll(x: Tensor, w: Tensor, u: Tensor, b: Tensor) -> Tensor:
    """Read a sequence from a state of zeros; return the state after each token.

    Args:
        x: (T, D), the vectors of the tokens.
        w: (D, N), times a token.
        u: (N, N), times a state.
        b: (N,), added.

    Returns:
        (T, N), of x's dtype.
    """
    state, states = x.new_zeros(u.shape[0]), []
    for row in x:
        state = recurrent_step(row, state, w, u, b)
        states.append(state)
    return torch.stack(states)


def additive_scores(
    decoder_state: Tensor, states: Tensor, w_a: Tensor, u_a: Tensor, v_a: Tensor
) -> Tensor:
    """Score how well each state of an encoder fits the state of a decoder.

    Args:
        decoder_state: (N,).
        states: (S, N), of the encoder.
        w_a: (N, A), times the decoder's state.
        u_a: (N, A), times each of the encoder's.
        v_a: (A,).

    Returns:
        (S,), of the dtype of the states.

    Source: Bahdanau et al. 2015, appendix A.1.2.
    """
    return torch.tanh(decoder_state @ w_a + states @ u_a) @ v_a


def by_hand() -> dict[str, Tensor]:
    """Return each step of the example, as the drawings show them.

    Returns:
        W, U, W_a, U_a (2, 2) and b, v_a, s (2,); for "not" the tokens X, the products XW and HU,
        their sums with b, and the states (3, 2); for "ton" its states (3, 2). Of the additive
        score, with the first state s of the decoder, the products asked (2,) and compared, their
        sums_a and tanh_a (3, 2); then scores and weights (3,) and context (2,).
    """
    w, u, b, w_a, u_a, v_a = map(torch.tensor, (W, U, B, W_A, U_A, V_A))
    x = torch.tensor([VECTORS[letter] for letter in "not"])
    states = unroll(x, w, u, b)
    before = torch.cat([torch.zeros(1, 2), states[:-1]])
    s = (states[-1] @ torch.tensor(U_D)).tanh()
    sums_a = s @ w_a + states @ u_a
    scores = additive_scores(s, states, w_a, u_a, v_a)
    weights = scores.softmax(dim=-1)
    return {
        "W": w, "U": u, "b": b, "s": s, "W_a": w_a, "U_a": u_a, "v_a": v_a, "X": x,
        "XW": x @ w, "HU": before @ u, "sums": x @ w + before @ u + b, "states": states,
        "ton": unroll(x.flip(0), w, u, b), "asked": s @ w_a, "compared": states @ u_a,
        "sums_a": sums_a, "tanh_a": sums_a.tanh(), "scores": scores, "weights": weights,
        "context": weights @ states,
    }  # fmt: skip


def copy_by_hand() -> dict[str, Any]:
    """Let the decoder by hand write "not"; return all that the moving figure shows.

    Returns:
        word and letters (str), the states of the encoder (3, 2), output (2, 3), and steps: for each
        letter the index of the one before (None at the start), its vector read (2,), the state
        before, sums (2,) and their tanh, the state (2,); then scores and weights (3,), context
        (2,), letter_scores (3,) and the index said.
    """
    w_d, u_d, w_o = map(torch.tensor, (W_D, U_D, W_O))
    word, letters, states = "not", "".join(VECTORS), by_hand()["states"]
    state, last, read = states[-1], None, torch.zeros(2)
    steps: list[dict[str, Any]] = []
    for _ in word:
        step: dict[str, Any] = {
            "last": last,
            "read": read,
            "before": state,
            "sums": read @ w_d + state @ u_d,
        }
        state = step["sums"].tanh()
        scores = states @ state
        context = scores.softmax(dim=-1) @ states
        letter_scores = context @ w_o
        last = int(letter_scores.argmax())
        read = torch.tensor(VECTORS[letters[last]])
        step |= {"state": state, "scores": scores, "weights": scores.softmax(dim=-1)}
        steps.append(step | {"context": context, "letter_scores": letter_scores, "said": last})
    return {"word": word, "letters": letters, "states": states, "output": w_o, "steps": steps}


def products_on_the_way(output: Tensor, pick: Callable[[Iterable[int]], int] = max) -> int:
    """Count the matrix products that wait for one another, from the inputs to an output.

    Args:
        output: computed with gradients; inputs that need none are left out.
        pick: max for the longest way, min for the shortest.
    """
    assert output.grad_fn is not None
    lengths: dict[Node, int] = {}
    todo = [output.grad_fn]
    while todo:
        node = todo[-1]
        inputs = [before for before, _ in node.next_functions if before is not None]
        if missing := [before for before in inputs if before not in lengths]:
            todo += missing
            continue
        is_product = any(product in node.name().lower() for product in ("mm", "mv", "conv"))
        lengths[node] = pick([lengths[before] for before in inputs] or [0]) + is_product
        todo.pop()
    return lengths[output.grad_fn]


def only_first_needs_gradient(length: int, size: int) -> list[Tensor]:
    """Random tokens (1, size), so that all ways begin at the first one."""
    return [torch.randn(1, size, requires_grad=place == 0) for place in range(length)]


def open_forget_gate(lstm: nn.LSTM, bias: float = 3.0) -> nn.LSTM:
    """Give the forget gate a bias, so that it stands near 1."""
    features = lstm.hidden_size  # torch's order of the gates: input, forget, cell, output
    nn.init.constant_(lstm.all_weights[0][3].detach()[features : 2 * features], bias)
    return lstm


def recurrent_or_attention(kind: str) -> nn.Module:
    """A fresh layer: "RNN", "LSTM", "LSTM, open gate" or "attention"."""
    if kind == "attention":
        return MultiHeadAttention(SIZE, 4)
    if kind == "RNN":
        return nn.RNN(SIZE, SIZE, batch_first=True)
    lstm = nn.LSTM(SIZE, SIZE, batch_first=True)
    return open_forget_gate(lstm) if "open" in kind else lstm


def gradient_by_distance(kind: str, length: int) -> Tensor:
    """The norm of the gradient of the last output at each token, the last one first: (length,).

    The layer is the same at each call; the tokens are drawn anew.
    """
    x = torch.randn(16, length, SIZE, requires_grad=True)
    torch.manual_seed(0)
    layer = recurrent_or_attention(kind)
    last = (layer(x, x, x) if kind == "attention" else layer(x)[0])[:, -1]
    (last * torch.randn_like(last)).sum().backward()
    assert x.grad is not None
    return x.grad.norm(dim=-1).mean(dim=0).flip(0)


class Recall(nn.Module):
    """Reads letters and says which was the first: ids (B, T) to logits (B, 8)."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(RECALL_LETTERS, SIZE, pad_id=None, init_std=SIZE**-0.5)
        # Attention does not know which token is first unless it is told.
        looks = kind == "attention"
        self.positions = SinusoidalPositions(SIZE, 128) if looks else nn.Identity()
        self.layer = recurrent_or_attention(kind)
        self.output = nn.Linear(SIZE, RECALL_LETTERS)

    def forward(self, ids: Tensor) -> Tensor:
        """Score the letters: (B, T) ids to (B, 8) logits, from the last output of the layer."""
        x = self.positions(self.embedding(ids))
        looks = isinstance(self.layer, MultiHeadAttention)
        last = self.layer(x[:, -1:], x, x) if looks else self.layer(x)[0]
        logits: Tensor = self.output(last[:, -1])
        return logits


def recall_first(kind: str, length: int, steps: int = 150) -> float:
    """Train to name the first of `length` letters; return the share that is right."""
    torch.manual_seed(0)
    model = Recall(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    for _ in range(steps):
        ids = torch.randint(RECALL_LETTERS, (32, length))
        loss = F.cross_entropy(model(ids), ids[:, 0])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ids = torch.randint(RECALL_LETTERS, (500, length))
    with torch.inference_mode():
        return (model(ids).argmax(dim=-1) == ids[:, 0]).float().mean().item()


class Seq2Seq(nn.Module):
    """Two LSTMs: the second gets the last state of the first, and may look back at all of them.

    Args:
        size: features of the states.
        attend: whether the decoder looks back.

    Source: Sutskever et al. 2014; with `attend` Bahdanau et al. 2015.
    """

    weights: Tensor  # (B, T, S), of the last call with `attend`

    def __init__(self, size: int, attend: bool) -> None:
        super().__init__()
        self.attend = attend
        self.embedding = nn.Embedding(LETTERS + 1, 32)
        self.encoder = nn.LSTM(32, size, batch_first=True)
        self.decoder = nn.LSTM(32, size, batch_first=True)
        self.query = nn.Linear(size, size)
        self.output = nn.Linear(2 * size, LETTERS)

    def forward(self, source: Tensor, decoder_input: Tensor) -> Tensor:
        """Score the letters: source (B, S) and decoder_input (B, T) to logits (B, T, 26)."""
        states, last = self.encoder(self.embedding(source))
        hidden, _ = self.decoder(self.embedding(decoder_input), last)
        if self.attend:
            scores = self.query(hidden) @ states.transpose(1, 2)
            self.weights = scores.softmax(dim=-1)
            context = self.weights @ states
        else:
            context = states[:, -1:].expand_as(hidden)  # the same for every letter
        logits: Tensor = self.output(torch.cat([hidden, context], dim=-1))
        return logits


def strings(
    count: int, length: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Draw strings, and what the decoder reads of them: a begin token, then all but the last."""
    source = torch.randint(LETTERS, (count, length), generator=generator)
    begin = torch.full((count, 1), LETTERS)
    return source, torch.cat([begin, source[:, :-1]], dim=1)


def train_to_copy(model: nn.Module, longest: int) -> Iterator[nn.Module]:
    """Train without end, on strings of 1 to `longest` letters; yield the model after each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    while True:
        length = int(torch.randint(1, longest + 1, ()))  # all lengths equally often
        source, decoder_input = strings(64, length)
        logits = model(source, decoder_input)
        loss = F.cross_entropy(logits.flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield model


@torch.no_grad()
def share_right(model: nn.Module, length: int) -> Tensor:
    """Let a model copy 500 strings: the share that is right of each place, (length,)."""
    source, decoder_input = strings(500, length, torch.Generator().manual_seed(1))
    said = model(source, decoder_input).argmax(dim=-1)
    return (said == source).float().mean(dim=0)


@dataclass(frozen=True)
class Plan:
    """One model to train: the size of its vectors, and whether its decoder may look back."""

    size: int
    attend: bool


PLANS = (Plan(32, False), Plan(64, False), Plan(128, False), Plan(32, True))


def run(
    plan: Plan, seed: int, steps: Sequence[int] = STEPS, lengths: Sequence[int] = LENGTHS
) -> dict[str, Any]:
    """Train one model; return the share of right letters after each of `steps`, by length."""
    start = time.process_time()
    torch.manual_seed(seed)
    training = train_to_copy(Seq2Seq(plan.size, plan.attend), max(lengths))
    right = []
    for step, model in enumerate(training, start=1):
        if step in steps:
            shares = [share_right(model, length).mean().item() for length in lengths]
            right.append([round(share, 4) for share in shares])
        if step == max(steps):
            break
    seconds = round(time.process_time() - start)
    return {**asdict(plan), "seed": seed, "right": right, "seconds": seconds}


def main() -> None:
    """Train all, print how far each one gets, and write the results."""
    torch.set_num_threads(1)
    runs = []
    for plan in PLANS:
        for seed in SEEDS:
            name = f"sequences {plan.size} {plan.attend} {seed}"
            runs.append(kept(name, [__file__], partial(run, plan, seed)))
            print(plan, seed, runs[-1]["seconds"], "s", *runs[-1]["right"][-1], flush=True)
    write_results("sequences", {"lengths": list(LENGTHS), "steps": list(STEPS), "runs": runs})


if __name__ == "__main__":
    main()
