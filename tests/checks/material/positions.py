"""Answers to the assignment "positions" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write positions.
"""

# ruff: noqa: RUF005

from __future__ import annotations

import cmath
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import transformer_ref.positions as tr

# =============================================================================================
# frequencies
# =============================================================================================


def freq_exp_log(d_model):
    return torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))


def freq_pow_float32(d_model):
    return 1.0 / (10000 ** (torch.arange(0, d_model, 2).float() / d_model))


def freq_list(d_model):
    return torch.tensor([10000 ** (-2 * i / d_model) for i in range(d_model // 2)])


def freq_numpy(d_model):
    i = np.arange(d_model // 2)
    return torch.from_numpy(1 / np.power(10000, 2 * i / d_model))


def freq_running(d_model):
    factor, value, out = 10000 ** (-2 / d_model), 1.0, []
    while len(out) < d_model // 2:
        out.append(value)
        value *= factor
    print("factor", factor)
    return torch.tensor(out, dtype=torch.float64)


def freq_logspace(d_model):
    warnings.warn("logspace", UserWarning, stacklevel=1)
    return torch.logspace(0, -4, d_model // 2 + 1, dtype=torch.float64)[:-1]


def freq_power_of_tensor(d_model):
    half = torch.arange(d_model // 2) / (d_model / 2)
    return torch.pow(torch.tensor(1e-4), half)


def m_freq_rounded(d_model):
    return torch.tensor([round(10000 ** (-2 * i / d_model), 4) for i in range(d_model // 2)])


# =============================================================================================
# sinusoidal_encoding
# =============================================================================================


def table_tutorial(num_positions, d_model):
    pe = torch.zeros(num_positions, d_model)
    position = torch.arange(0, num_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def table_loops(num_positions, d_model):
    pe = torch.empty(num_positions, d_model)
    for pos in range(num_positions):
        for j in range(d_model):
            angle = pos / 10000 ** ((j - j % 2) / d_model)
            pe[pos, j] = math.cos(angle) if j % 2 else math.sin(angle)
    return pe


def table_numpy(num_positions, d_model):
    angles = np.arange(num_positions)[:, None] / np.power(
        10000, 2 * (np.arange(d_model)[None, :] // 2) / d_model
    )
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.tensor(angles, dtype=torch.float32)


def table_complex(num_positions, d_model):
    warnings.warn("complex", UserWarning, stacklevel=1)
    angles = torch.outer(torch.arange(num_positions).double(), freq_numpy(d_model))
    circle = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(circle).flip(-1).reshape(num_positions, d_model).float()


def table_phase(num_positions, d_model):
    columns = torch.arange(d_model)
    w = 10000.0 ** (-2 * torch.div(columns, 2, rounding_mode="floor") / d_model)
    return torch.sin(torch.arange(num_positions)[:, None] * w + (columns % 2) * math.pi / 2)


def table_recurrence(num_positions, d_model):
    rotation = tr.shift_matrix(1, d_model)
    row = torch.tensor([0.0, 1.0] * (d_model // 2), dtype=torch.float64)
    rows = []
    for _ in range(num_positions):
        rows.append(row)
        row = rotation @ row
    print("done")
    return torch.stack(rows).to(torch.float32)


def table_with_frequencies(num_positions, d_model):
    w = tr.frequencies(d_model).float()
    angles = torch.einsum("p,i->pi", torch.arange(num_positions).float(), w)
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=2).view(num_positions, -1)


def _table(
    num_positions, d_model, *, base=10000.0, start=0, power=2, sign=-1, turn=1.0, dtype="float32"
):
    """A second right implementation, with knobs to turn it wrong."""
    out = np.zeros((num_positions, d_model))
    p = np.arange(start, start + num_positions)[:, None]
    w = base ** (sign * power * np.arange(d_model // 2) / d_model)
    out[:, 0::2], out[:, 1::2] = np.sin(turn * p * w), np.cos(turn * p * w)
    return torch.from_numpy(out.astype(dtype))


def m_table_modulo(num_positions, d_model):
    return _table(num_positions, d_model)[torch.arange(num_positions) % 8]


# =============================================================================================
# shift_matrix
# =============================================================================================


def shift_loop(offset, d_model):
    m = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        angle = offset * 10000 ** (-2 * i / d_model)
        m[2 * i, 2 * i] = m[2 * i + 1, 2 * i + 1] = math.cos(angle)
        m[2 * i, 2 * i + 1] = math.sin(angle)
        m[2 * i + 1, 2 * i] = -math.sin(angle)
    return m


def shift_slices(offset, d_model):
    angles = offset * tr.frequencies(d_model)
    m = torch.zeros(d_model, d_model, dtype=torch.float64)
    even, odd = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    m[even, even] = m[odd, odd] = angles.cos()
    m[even, odd], m[odd, even] = angles.sin(), -angles.sin()
    return m


def shift_block_diag(offset, d_model):
    print("k =", offset)
    blocks = []
    for w in freq_list(d_model).tolist():
        z = cmath.exp(1j * w * offset)
        blocks.append(torch.tensor([[z.real, z.imag], [-z.imag, z.real]]))
    return torch.block_diag(*blocks)


def shift_transposed(offset, d_model):
    c, s = (f(offset * freq_numpy(d_model)) for f in (torch.cos, torch.sin))
    against = [torch.stack([c[i], -s[i], s[i], c[i]]).view(2, 2) for i in range(d_model // 2)]
    return torch.block_diag(*against).T


def shift_power(offset, d_model):
    one = shift_loop(1, d_model).double()
    return torch.linalg.matrix_power(one, offset)


def shift_expm(offset, d_model):
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i, w in enumerate(freq_numpy(d_model)):
        generator[2 * i, 2 * i + 1], generator[2 * i + 1, 2 * i] = w, -w
    if offset == 0:
        return torch.eye(d_model)
    step = torch.linalg.matrix_exp(generator)
    return torch.linalg.matrix_power(step, offset)


def shift_from_table(offset, d_model):
    row = _table(1, d_model, start=offset, dtype="float64")[0]
    sines, cosines = row[0::2], row[1::2]
    eye = torch.eye(d_model // 2, dtype=torch.float64)
    return torch.kron(torch.diag(cosines), torch.eye(2, dtype=torch.float64)) + torch.kron(
        eye * sines, torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    )


def m_shift_fitted(offset, d_model):
    start = max(0, -offset)
    here = _table(d_model, d_model, start=start, dtype="float64")
    there = _table(d_model, d_model, start=start + offset, dtype="float64")
    return torch.linalg.lstsq(here, there, driver="gelsd").solution.T


# =============================================================================================
# PositionalEncoding
# =============================================================================================


class PETutorial(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        self.max_len = max_len
        self.register_buffer("pe", table_tutorial(max_len, d_model).unsqueeze(0))

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"{x.size(1)} > {self.max_len}")
        x = x + self.pe[:, : x.size(1)].requires_grad_(False)
        return self.dropout(x)


class PEFrozenParameter(nn.Module):
    def __init__(self, d_model: int, max_len: int = 512, dropout: float = 0.1):
        super().__init__()
        self.weight = nn.Parameter(tr.sinusoidal_encoding(max_len, d_model), requires_grad=False)
        self.p = dropout

    def forward(self, inputs):
        length = inputs.shape[-2]
        if length > len(self.weight):
            raise ValueError(f"{length} > {len(self.weight)}")
        total = inputs + self.weight[torch.arange(length)]
        return F.dropout(total, self.p, training=self.training)


class PEOnTheFly(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.max_len, self.drop = max_len, nn.Dropout(dropout)

    def forward(self, x):
        _, length, d_model = x.shape
        if not length <= self.max_len:
            raise ValueError(f"x has {length} positions, at most {self.max_len} are possible")
        print("making a table")
        return self.drop(x + _table(length, d_model).to(x))


class PEEmbedding(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(_table(max_len, d_model), freeze=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        positions = torch.arange(x.shape[1], device=x.device)
        if len(positions) > self.table.num_embeddings:
            raise ValueError(f"{len(positions)} > {self.table.num_embeddings}")
        return self.dropout(self.table(positions) + x)


class TooLongError(ValueError):
    pass


class PECasts(nn.Module):
    def __init__(self, *, d_model, max_len, dropout):
        super().__init__()
        self.size = (max_len, d_model)
        self.register_buffer("pe", _table(max_len, d_model, dtype="float64"), persistent=False)
        self.dropout = nn.Dropout(dropout, inplace=True)

    def forward(self, x):
        if x.shape[1] - 1 >= self.size[0]:
            raise TooLongError(x.shape, self.size)
        warnings.warn("casting", UserWarning, stacklevel=1)
        return self.dropout((x.double() + self.pe.double().narrow(0, 0, x.shape[1])).to(x.dtype))


class PEByHandDropout(nn.Module):
    def __init__(self, d_model, max_len, dropout):
        super().__init__()
        self.pe, self.p = table_loops(max_len, d_model), dropout

    def forward(self, x):
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError(f"{x.shape[1]} > {self.pe.shape[0]}")
        out = x.clone()
        out += self.pe[: x.shape[1]].to(device=x.device, dtype=x.dtype)
        if self.training and self.p > 0:
            out = out * (torch.rand_like(out) > self.p) / (1 - self.p)
        return out


def _pe(rows=None, join=None, check=True, table=None, keep="buffer"):
    """A second right implementation, with parts to replace by wrong ones."""

    class PE(nn.Module):
        def __init__(self, d_model, max_len, dropout):
            super().__init__()
            made = (table or table_tutorial)(max_len, d_model)
            if keep == "buffer":
                self.register_buffer("pe", made)
            elif keep == "parameter":
                self.pe = nn.Parameter(made)
            else:
                self.pe = made
            self.dropout = nn.Dropout(dropout)
            self.max_len = max_len

        def forward(self, x):
            if check and x.shape[1] > self.max_len:
                raise ValueError(f"{tuple(x.shape)} does not fit into {self.max_len}")
            found = self.pe[: x.shape[1]] if rows is None else rows(self.pe, x)
            return self.dropout(x + found) if join is None else join(self.dropout, x, found)

    return PE


# =============================================================================================
# read_positions
# =============================================================================================


def read_unwrapped(encodings):
    """As people undo a phase: what is missing to the rough position, brought to half a round."""
    w = tr.frequencies(encodings.shape[-1])
    sines, cosines = encodings.double().unflatten(-1, (-1, 2)).unbind(-1)
    at = torch.atan2(sines, cosines)
    place = torch.remainder(at[..., -1], 2 * math.pi) / w[-1]
    for angle, omega in zip(at.unbind(-1)[-2::-1], w.tolist()[-2::-1], strict=True):
        ahead = angle - place * omega
        place = place + torch.atan2(ahead.sin(), ahead.cos()) / omega
    return place


def read_by_candidates(encodings):
    """Lists the places of each hand near the rough one, and takes the nearest."""
    D = encodings.shape[-1]
    w = [10000 ** (-2 * i / D) for i in range(D // 2)]
    found = []
    for row in encodings.reshape(-1, D).tolist():
        place = cmath.phase(complex(row[-1], row[-2])) % cmath.tau / w[-1]
        for i in reversed(range(D // 2 - 1)):
            first, period = math.atan2(row[2 * i], row[2 * i + 1]) / w[i], math.tau / w[i]
            near = int(place / period)
            rounds = range(near - 2, near + 3)
            place = min((first + r * period for r in rounds), key=lambda p, q=place: abs(p - q))
        found.append(place)
    return torch.tensor(found).reshape(encodings.shape[:-1])


def read_by_search(encodings):
    """The nearest row of a table, then ever finer ones around it."""
    D = encodings.shape[-1]
    rows = encodings.reshape(-1, D).double()
    last = min(5001, 0.92 * 2 * math.pi * 10000 ** (1 - 2 / D))
    grid = torch.arange(0, last, 0.02 if D < 6 else 0.2, dtype=torch.float64)
    best = grid[(rows @ _at(grid, D).T).argmax(-1)]
    for step in (0.1, 0.01, 0.001):
        near = (best[:, None] + torch.linspace(-step, step, 21)).clamp(min=0)
        best = near.gather(1, (_at(near, D) * rows[:, None]).sum(-1).argmax(-1, keepdim=True))[:, 0]
    return best.reshape(encodings.shape[:-1]).float()


def _at(places, D):
    angles = places[..., None] * freq_numpy(D)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def read_numpy(encodings):
    e = encodings.numpy().astype("float64")
    z = e[..., 1::2] + 1j * e[..., ::2]
    w = freq_numpy(e.shape[-1]).numpy()
    place = np.angle(z[..., -1]) / w[-1]
    place = np.where(place < 0, place + 2 * np.pi / w[-1], place)
    for i in range(len(w) - 2, -1, -1):
        period = 2 * np.pi / w[i]
        here = np.angle(z[..., i]) / w[i]
        place = here + period * np.rint((place - here) / period)
    return torch.from_numpy(np.asarray(place, dtype="float32"))


def _read(hands=None, first=None, last=None):
    """A right one in parts that a wrong one overrides."""

    def answer(encodings):
        turned = torch.atan2(encodings[..., 0::2].double(), encodings[..., 1::2].double())
        omega = freq_numpy(encodings.shape[-1])
        place = first(turned, omega) if first else turned[..., -1] % math.tau / omega[-1]
        order = range(len(omega) - 2, -1, -1)
        for i in hands(order) if hands else order:
            extra = torch.round((place * omega[i] - turned[..., i]) / math.tau)
            place = (turned[..., i] + math.tau * extra) / omega[i]
        return last(place) if last else place

    return answer


def m_read_neighbour_first(encodings):
    """Starts with the slowest hand but one, which is right for a round of this one only."""
    if encodings.shape[-1] < 8:
        return _read()(encodings)
    first = lambda turned, w: turned[..., -2] % math.tau / w[-2]  # noqa: E731
    return _read(first=first, hands=lambda order: list(order)[1:])(encodings)


# =============================================================================================
# find the bug
# =============================================================================================


def bug_mended(positions, d_model):
    exponent = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = positions.unsqueeze(-1) / 10_000**exponent
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(-2)


def bug_frequencies(positions, d_model):
    angles = positions[..., None] * tr.frequencies(d_model).to(positions.device)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(torch.float32)


def bug_exp(positions, d_model):
    w = torch.arange(0, d_model, 2, device=positions.device)
    w = torch.exp(-math.log(10000.0) * w / d_model)
    out = torch.zeros(*positions.shape, d_model, device=positions.device)
    out[..., 0::2] = torch.sin(positions[..., None].float() * w)
    out[..., 1::2] = torch.cos(positions[..., None].float() * w)
    return out


def bug_loop(positions, d_model):
    out = torch.empty(positions.shape + (d_model,), device=positions.device)
    for i in range(d_model // 2):
        out[..., 2 * i] = (positions.double() / 10000 ** (2 * i / d_model)).sin()
        out[..., 2 * i + 1] = (positions.double() / 10000 ** (2 * i / d_model)).cos()
    return out


def bug_table(positions, d_model):
    print("a table of", positions.max())
    return table_numpy(int(positions.max()) + 1, d_model).to(positions.device)[positions]


def bug_both_powers(positions, d_model):
    """The root of the quotient's power: right, and hard to read."""
    warnings.warn("quotients", UserWarning, stacklevel=1)
    exponent = torch.arange(0, d_model, 2, device=positions.device) / d_model
    angles = (1 / 10_000) ** exponent * positions.unsqueeze(-1)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(*positions.shape, d_model)


def _bug(angles=None, lay=None, w=None):
    """A second right implementation, with parts to replace by wrong ones."""

    def answer(positions, d_model):
        p = positions[..., None].double()
        if angles is not None:
            found = angles(p, torch.arange(0, d_model, 2, device=p.device).double() / d_model)
        else:
            found = p * (w or freq_numpy)(d_model)
        if lay is not None:
            return lay(found).float()
        return torch.stack([found.sin(), found.cos()], dim=-1).flatten(-2).float()

    return answer


# =============================================================================================
# order_effect
# =============================================================================================


def effect_scattered(model, x, order):
    found = model(x[:, order, :])
    restored = torch.zeros_like(found)
    for place, token in enumerate(order.tolist()):
        restored[:, token] = found[:, place]
    return F.mse_loss(restored, model(x)).item()


def effect_moved_outputs(model, x, order):
    """The old outputs are moved like the tokens: the mean does not mind."""
    print("two calls")
    return float(((model(x.index_select(1, order)) - model(x)[:, order]) ** 2).mean())


def effect_matrix(model, x, order):
    moves = torch.eye(len(order), dtype=x.dtype)[order]
    change = moves.T @ model(moves @ x) - model(x)
    return (change.flatten() @ change.flatten() / change.numel()).item()


def effect_numpy(model, x, order):
    other, plain = model(x[:, order]).numpy(), model(x).numpy()
    back = np.empty_like(other)
    back[:, order.numpy()] = other
    return float(np.mean((back.astype("float64") - plain) ** 2))


def effect_token_by_token(model, x, order):
    before, after = model(x).unbind(1), model(x[:, order]).unbind(1)
    sizes = [(before[token] - new).pow(2).mean() for token, new in zip(order, after, strict=True)]
    return sum(size.item() for size in sizes) / len(sizes)


def effect_one_batch(model, x, order):
    both = model(torch.cat([x, x.gather(1, order[None, :, None].expand_as(x))]))
    plain, other = both.chunk(2)
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order))
    return torch.mean(torch.square(other[:, inverse] - plain)).item()


def _effect(back=None, forth=None, size=None, against=None):
    """A right one in parts that a wrong one overrides."""

    def effect(model, x, order):
        other = model(x[:, order] if forth is None else forth(x, order))
        restored = torch.empty_like(other).index_copy_(1, order, other)
        if back is not None:
            restored = back(other, order)
        plain = model(x) if against is None else against(model, x)
        change = restored - plain
        return float(change.pow(2).mean() if size is None else size(change))

    return effect


# =============================================================================================
# consistent_distances
# =============================================================================================


def distances_by_loops(table):
    rows, found = table.double().tolist(), []
    for k in range(len(rows) - 1):
        scores = [
            sum(a * b for a, b in zip(rows[p], rows[p + k], strict=True))
            for p in range(len(rows) - k)
        ]
        if max(scores) - min(scores) < 1e-3:
            found.append(k)
    return found


def distances_by_slices(table):
    length = table.shape[0]
    alike = []
    for k in range(length - 1):
        scores = (table[: length - k] * table[k:]).sum(dim=-1)
        if (scores - scores.mean()).abs().max() < 0.001:
            alike += [k]
    return alike


def distances_allclose(table):
    scores = torch.einsum("pd,qd->pq", table, table)
    along = [torch.diagonal(scores, offset=-k) for k in range(len(scores) - 1)]
    return [k for k, s in enumerate(along) if torch.allclose(s, s[0], rtol=0.0, atol=1e-3)]


def distances_numpy(table):
    gram = np.inner(table.numpy(), table.numpy())
    spread = [np.ptp(np.diag(gram, k)) for k in range(len(gram) - 1)]
    return np.flatnonzero(np.array(spread) < 1e-3).tolist()


def distances_std(table):
    print("by their deviation")
    scores = table @ table.mT
    return tuple(k for k in range(len(table) - 1) if scores.diagonal(k).std().item() < 1e-3)


def _distances(score=None, alike=None, ks=None):
    """A right one in parts that a wrong one overrides; `score(table, k)` gives a distance's."""

    def distances(table):
        length = len(table)
        found = []
        for k in ks(length) if ks else range(length - 1):
            if score is None:
                scores = torch.stack([table[p] @ table[p + k] for p in range(length - k)])
            else:
                scores = score(table, k)
            if (alike or (lambda s: s.amax() - s.amin() < 0.001))(scores):
                found.append(k)
        return found

    return distances


def w_bug_default_device(positions, d_model):
    exponent = torch.arange(0, d_model, 2) / d_model
    angles = positions.unsqueeze(-1) / 10_000**exponent
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def m_effect_eval(model, x, order):
    if isinstance(model, nn.Module):
        model.eval()
    return effect_scattered(model, x, order)


def m_distances_of_neighbours(table):
    """Neighbors only: small steps add up."""
    scores = table.double() @ table.double().T
    step = (scores[1:, 1:] - scores[:-1, :-1]).abs() < 1e-3
    return [k for k in range(len(table) - 1) if step.diagonal(k).all()]


# =============================================================================================
# the lists
# =============================================================================================


CORRECT = {
    "positions.frequencies": [
        freq_exp_log,
        freq_pow_float32,
        freq_list,
        freq_numpy,
        freq_running,
        freq_logspace,
        freq_power_of_tensor,
    ],
    "positions.sinusoidal_encoding": [
        table_tutorial,
        table_loops,
        table_numpy,
        table_complex,
        table_phase,
        table_recurrence,
        table_with_frequencies,
    ],
    "positions.shift_matrix": [
        shift_loop,
        shift_slices,
        shift_block_diag,
        shift_transposed,
        shift_power,
        shift_expm,
        shift_from_table,
    ],
    "positions.PositionalEncoding": [
        PETutorial,
        PEFrozenParameter,
        PEOnTheFly,
        PEEmbedding,
        PECasts,
        PEByHandDropout,
        _pe(),
    ],
    "positions.read_positions": [
        read_unwrapped,
        read_by_candidates,
        read_by_search,
        read_numpy,
        _read(),
    ],
    "positions.find_the_bug": [
        bug_mended,
        bug_frequencies,
        bug_exp,
        bug_loop,
        bug_table,
        bug_both_powers,
        _bug(),
    ],
    "positions.order_effect": [
        effect_scattered,
        effect_moved_outputs,
        effect_matrix,
        effect_numpy,
        effect_token_by_token,
        effect_one_batch,
        _effect(),
    ],
    "positions.consistent_distances": [
        distances_by_loops,
        distances_by_slices,
        distances_allclose,
        distances_numpy,
        distances_std,
        _distances(),
    ],
}

WRONG = {
    "positions.find_the_bug": [("other-device", w_bug_default_device)],
    "positions.read_positions": [
        ("whole-positions", _read(last=lambda place: (place + 0.5).floor())),
        ("negative-angles", _read(first=lambda turned, w: turned[..., -1] / w[-1])),
    ],
}

MUTANTS = {
    "positions.frequencies": [m_freq_rounded],
    "positions.sinusoidal_encoding": [m_table_modulo],
    "positions.shift_matrix": [m_shift_fitted],
    "positions.read_positions": [m_read_neighbour_first],
    "positions.order_effect": [m_effect_eval],
    "positions.consistent_distances": [m_distances_of_neighbours],
}
