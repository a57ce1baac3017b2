"""Wrong answers to the tasks of positions, as beginners write them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import positions as reference

# positions.frequencies


@wrong("positions.frequencies", "the 2 twice", "exponent-doubled")
def _(d_model):
    return 10_000.0 ** (-2 * torch.arange(0, d_model, 2) / d_model)


@wrong("positions.frequencies", "the minus is missing", "growing")
def _(d_model):
    return 10_000.0 ** (torch.arange(0, d_model, 2) / d_model)


@wrong("positions.frequencies", "one for each feature", "one-for-each-feature")
def _(d_model):
    return 10_000.0 ** (-2 * torch.arange(d_model) / d_model)


@wrong("positions.frequencies", "without the 2", "exponent-halved")
def _(d_model):
    return 10_000.0 ** (-torch.arange(d_model // 2) / d_model)


@wrong(
    "positions.frequencies",
    "linspace to the end: the last one is 1/10000",
    "last-is-exactly-1/10000",
)
def _(d_model):
    return 10_000.0 ** -torch.linspace(0, 1, d_model // 2)


# positions.sinusoidal_encoding


def _angles(num_positions, d_model):
    return torch.outer(
        torch.arange(num_positions, dtype=torch.float64), reference.frequencies(d_model).double()
    )


@wrong("positions.sinusoidal_encoding", "all sines, then all cosines", "halves-side-by-side")
def _(num_positions, d_model):
    a = _angles(num_positions, d_model)
    return torch.cat([a.sin(), a.cos()], dim=-1).float()


@wrong("positions.sinusoidal_encoding", "cosine in the even columns", "cosine-first")
def _(num_positions, d_model):
    a = _angles(num_positions, d_model)
    return torch.stack([a.cos(), a.sin()], dim=-1).flatten(1).float()


@wrong("positions.sinusoidal_encoding", "positions from 1", "positions-from-one")
def _(num_positions, d_model):
    a = _angles(num_positions + 1, d_model)[1:]
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(1).float()


@wrong(
    "positions.sinusoidal_encoding",
    "sine and cosine have an angle each: j / D for column j",
    "odd-columns-have-their-own-frequency",
)
def _(num_positions, d_model):
    j = torch.arange(d_model)
    a = torch.arange(num_positions)[:, None] / 10_000.0 ** (j / d_model)
    return torch.where(j % 2 == 0, a.sin(), a.cos())


@wrong("positions.sinusoidal_encoding", "float64", "not-float32")
def _(num_positions, d_model):
    a = _angles(num_positions, d_model)
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(1)


# positions.shift_matrix


def _blocks(offset, d_model, block):
    return torch.block_diag(
        *(torch.tensor(block(offset * w.item())) for w in reference.frequencies(d_model))
    )


@wrong("positions.shift_matrix", "transposed: moves back", "moves-back")
def _(offset, d_model):
    return _blocks(
        offset, d_model, lambda b: [[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]]
    )


@wrong("positions.shift_matrix", "both sines positive", "no-minus")
def _(offset, d_model):
    return _blocks(
        offset, d_model, lambda b: [[math.cos(b), math.sin(b)], [math.sin(b), math.cos(b)]]
    )


@wrong("positions.shift_matrix", "sines on the diagonal", "sine-and-cosine-exchanged")
def _(offset, d_model):
    return _blocks(
        offset, d_model, lambda b: [[math.sin(b), math.cos(b)], [math.cos(b), -math.sin(b)]]
    )


@wrong("positions.shift_matrix", "the offset is not used in the angle", "offset-without-effect")
def _(offset, d_model):
    return _blocks(1, d_model, lambda b: [[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]])


@wrong("positions.shift_matrix", "one frequency for all hands", "one-angle-for-all")
def _(offset, d_model):
    c, s = math.cos(offset), math.sin(offset)
    return torch.block_diag(*[torch.tensor([[c, s], [-s, c]])] * (d_model // 2))


# positions.PositionalEncoding


class _Table(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.register_buffer("pe", reference.sinusoidal_encoding(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def look(self, x):
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError(f"{x.shape[1]} tokens, at most {self.pe.shape[0]}")


@wrong("positions.PositionalEncoding", "the positions run over the batch", "position-by-batch")
class _(_Table):
    def forward(self, x):
        self.look(x)
        return self.dropout(x + self.pe[: x.shape[0]].unsqueeze(1).to(x.dtype))


@wrong("positions.PositionalEncoding", "sqrt(D) in front", "scaled-by-root-d")
class _(_Table):
    def forward(self, x):
        self.look(x)
        return self.dropout(x * math.sqrt(x.shape[-1]) + self.pe[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "no ValueError", "other-error")
class _(_Table):
    def forward(self, x):
        return self.dropout(x + self.pe[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "the table is a parameter", "table-is-trained")
class _(_Table):
    def __init__(self, d_model, max_len, dropout):
        super().__init__(d_model, max_len, dropout)
        table = self.pe
        del self.pe
        self.pe = nn.Parameter(table)

    def forward(self, x):
        self.look(x)
        return self.dropout(x + self.pe[: x.shape[1]].to(x.dtype))


@wrong("positions.PositionalEncoding", "max_len itself is refused", "max-len-refused")
class _(_Table):
    def forward(self, x):
        if x.shape[1] >= self.pe.shape[0]:
            raise ValueError(f"{x.shape[1]} tokens, at most {self.pe.shape[0]}")
        return self.dropout(x + self.pe[: x.shape[1]].to(x.dtype))


# positions.read_positions

TURN = 2 * math.pi


def _read(angles, omega, start=None, rounds=torch.round):
    """Go from the slowest hand to the fastest, each correcting the last."""
    place = angles[..., -1] % TURN / omega[-1] if start is None else start
    for i in reversed(range(len(omega) - 1)):
        place = (
            angles[..., i] + TURN * rounds((place * omega[i] - angles[..., i]) / TURN)
        ) / omega[i]
    return place


def _hands(encodings):
    omega = reference.frequencies(encodings.shape[-1]).tolist()
    return torch.atan2(encodings[..., 0::2], encodings[..., 1::2]), omega


@wrong("positions.read_positions", "the first four features, as in the example", "hands-left-out")
def _(encodings):
    angles, omega = _hands(encodings)
    return _read(angles[..., :2], omega[:2])


@wrong("positions.read_positions", "acos of the cosines", "half-a-circle")
def _(encodings):
    return _read(torch.acos(encodings[..., 1::2]), _hands(encodings)[1])


@wrong("positions.read_positions", "ceil: the next whole round", "rounds-cut")
def _(encodings):
    return _read(*_hands(encodings), rounds=torch.ceil)


@wrong("positions.read_positions", "[:, 0::2]: two axes are taken for granted", "only-two-axes")
def _(encodings):
    angles = torch.atan2(encodings[:, 0::2], encodings[:, 1::2])
    return _read(angles, reference.frequencies(encodings.shape[1]).tolist())


@wrong("positions.read_positions", "i / D in the place of 2i / D", "exponent-halved")
def _(encodings):
    D = encodings.shape[-1]
    return _read(_hands(encodings)[0], [10000 ** (-i / D) for i in range(D // 2)])


@wrong("positions.read_positions", "the rough position begins at 0", "negative-angles")
def _(encodings):
    place = torch.zeros(encodings.shape[:-1], dtype=encodings.dtype)
    angles, omega = _hands(encodings)
    for i in range(len(omega) - 1, -1, -1):
        place = (
            angles[..., i] + TURN * ((place * omega[i] - angles[..., i]) / TURN).round()
        ) / omega[i]
    return place


@wrong("positions.read_positions", "the nearest row, then the fastest hand", "nearest-row")
def _(encodings):
    table = reference.sinusoidal_encoding(5000, encodings.shape[-1]).to(encodings.dtype)
    place = (encodings @ table.T).argmax(-1)
    angle = _hands(encodings)[0][..., 0]
    return angle + TURN * ((place - angle) / TURN).round()


@wrong(
    "positions.read_positions",
    "only the features of the slow half of the hands",
    "hands-left-out",
)
def _(encodings):
    angles, omega = _hands(encodings)
    half = len(omega) // 2
    return _read(angles[..., half:], omega[half:])


@wrong("positions.read_positions", "atan2(cosine, sine)", "axes-exchanged")
def _(encodings):
    _, omega = _hands(encodings)
    return _read(torch.atan2(encodings[..., 1::2], encodings[..., ::2]), omega)


@wrong("positions.read_positions", "the sum of what the hands say", "mean-of-the-hands")
def _(encodings):
    angles, omega = _hands(encodings)
    return (angles / torch.tensor(omega)).sum(-1)


# positions.find_the_bug


@wrong(
    "positions.find_the_bug", "the brackets moved to the denominator's product", "product-not-power"
)
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / (10_000 * exponents)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


@wrong("positions.find_the_bug", "multiplied instead of divided")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) * 10_000**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


@wrong("positions.find_the_bug", "the power of the position alone", "power-of-the-position")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) ** exponents / 10_000
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


@wrong("positions.find_the_bug", "cat instead of stack", "halves-side-by-side")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / 10_000**exponents
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


@wrong("positions.find_the_bug", "the positions are replaced by 0, 1, 2, ...", "positions-ignored")
def _(positions, d_model):
    exponents = torch.arange(0, d_model, 2, device=positions.device) / d_model
    places = torch.arange(positions.shape[-1], device=positions.device).expand_as(positions)
    angles = places.unsqueeze(-1) / 10_000**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)


# positions.consistent_distances


@wrong(
    "positions.consistent_distances",
    "only the first two rows at each distance are compared",
    "first-places-only",
)
def _(table):
    scores = table @ table.T
    return [k for k in range(len(table) - 1) if abs(scores[0, k] - scores[1, 1 + k]) < 0.001]


@wrong("positions.consistent_distances", "exact equality", "rounding-counts")
def _(table):
    scores = table @ table.T
    return [k for k in range(len(table) - 1) if (scores.diagonal(k) == scores.diagonal(k)[0]).all()]


@wrong(
    "positions.consistent_distances",
    "range(1, ...): distance 0 is left out",
    "last-or-first-distance",
)
def _(table):
    scores = table @ table.T
    return [
        k
        for k in range(1, len(table) - 1)
        if scores.diagonal(k).max() - scores.diagonal(k).min() < 0.001
    ]


@wrong(
    "positions.consistent_distances",
    "range(len(table)): the last distance, with one pair, is in",
    "last-or-first-distance",
)
def _(table):
    scores = table @ table.T
    return [
        k for k in range(len(table)) if scores.diagonal(k).max() - scores.diagonal(k).min() < 0.001
    ]


@wrong("positions.consistent_distances", "the rows are normalised: cosines", "cosine")
def _(table):
    rows = F.normalize(table, dim=1)
    scores = rows @ rows.T
    return [
        k
        for k in range(len(table) - 1)
        if scores.diagonal(k).max() - scores.diagonal(k).min() < 0.001
    ]
