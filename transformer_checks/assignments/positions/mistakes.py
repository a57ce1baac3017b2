"""The misconceptions of the assignment "positions", task by task, each a change to the answer.

They come from the notes that the course corrects, and from tutorials and repositories that are
widely copied: a cosine with a frequency of its own, a table whose row 0 is empty, halves instead of
pairs, positions counted along the batch.
Twins that give the same numbers are one entry: 2i/(D/2) and 2i with i as the feature; a transposed
M_k, the textbook's rotation, one for (cosine, sine) pairs and a turn by -k.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.assignments.shared_mistakes import (
    CHANGES_INPUT,
    FLOAT32_ONLY,
    TENSOR_FOR_NUMBER,
    after,
    no_gradients,
    with_wrong,
)
from transformer_checks.judging.changes import Change, change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

# --- frequencies, wherever they are used -----------------------------------------------------

RATES = "reference.frequencies(d_model)"
TWICE_I = "torch.arange(0, d_model, 2, dtype=torch.float64)"
EVERY_FEATURE = "torch.arange(d_model, dtype=torch.float64)"

SQUARED = Misconception(
    "exponent-doubled",
    "the exponents are twice as large as they should be: every frequency is squared",
    "i counts pairs, from 0 to D/2 - 1, and the last exponent is nearly -1. Look at whether i "
    "counts features here and gets the 2 on top, or is divided by D/2 together with the 2.",
    (change(RATES, f"({RATES} ** 2)"),),
)
ROOT = Misconception(
    "exponent-halved",
    "the exponents are half as large as they should be",
    "The last exponent should be nearly -1, so that the slowest hand takes nearly 2 pi * 10000 "
    "positions for a round. Look at what became of the 2, or at what i is divided by.",
    (change(RATES, f"({RATES} ** 0.5)"),),
)
GROWING = Misconception(
    "growing",
    "the frequencies grow from pair to pair where they should fall",
    "The first hand is the fastest. 10000^(2i/D) is what the position is divided by; a frequency "
    "is 1 over it, and the position is multiplied by that.",
    (change(RATES, f"({RATES} ** -1)"),),
)
ROUNDS = Misconception(
    "two-pi",
    "there is a factor of 2 pi that the formula does not have",
    "A frequency here is an angle in radians a position. A full round is 2 pi, but nothing asks "
    "for rounds or wavelengths.",
    (
        change(RATES, f"({RATES} * 2 * math.pi)"),
        change(RATES, f"({RATES} / (2 * math.pi))"),
        change(RATES, f"(2 * math.pi / {RATES})"),
    ),
)
TO_THE_END = Misconception(
    "last-is-exactly-1/10000",
    "the last frequency is exactly 1/10000: the exponents end at -1",
    "Some programs do it so, the paper does not: 2i/D stops one step short of 1. Look for a "
    "linspace with both ends, or a D/2 - 1.",
    (change(RATES, "(10_000.0 ** -torch.linspace(0, 1, d_model // 2, dtype=torch.float64))"),),
)
LINEAR = Misconception(
    "evenly-spaced",
    "the frequencies are evenly spaced: each differs from the one before by the same amount",
    "Each should be the same *multiple* of the one before. i belongs into the exponent.",
    (
        change(RATES, "torch.linspace(1, 1e-4, d_model // 2, dtype=torch.float64)"),
        change(RATES, f"torch.linspace(1, {RATES}[-1].item(), d_model // 2, dtype=torch.float64)"),
    ),
)
PRODUCT = Misconception(
    "product-not-power",
    "10000 is multiplied by 2i/D where it should be raised to that power",
    "Look at what stands between 10000 and the fraction: one star or two.",
    (
        change(RATES, f"(1 / (10_000.0 * {TWICE_I} / d_model))"),
        change(RATES, f"(1 / (10_000.0 * {TWICE_I} / d_model)).clamp(max=1)"),
    ),
)
FROM_ONE = Misconception(
    "i-from-one",
    "i counts from 1, or 2i is odd",
    "The first pair is i = 0, and its frequency is 10000^0 = 1. Look at where the range starts.",
    (
        change(RATES, f"({RATES} * 10_000.0 ** (-2 / d_model))"),
        change(RATES, f"({RATES} * 10_000.0 ** (-1 / d_model))"),
    ),
)
OTHER_BASE = Misconception(
    "other-base",
    "the base is not 10000",
    "Some other number is raised to the power. Count the zeros.",
    (*(change(RATES, f"{base} ** (-{TWICE_I} / d_model)") for base in (1e3, 1e5, 1e6)),),
)
REVERSED = Misconception(
    "reversed",
    "the frequencies come from the slowest to the fastest",
    "i = 0 is the fastest, with frequency 1, and stands first.",
    (change(RATES, f"{RATES}.flip(0)"),),
)
WHOLE_DIVISION = Misconception(
    "whole-division",
    "all frequencies are the same: every exponent is the same whole number",
    "2i/D is a fraction below 1. Look for // or for a conversion to int.",
    (change(RATES, f"torch.ones_like({RATES})"),),
)

OF_RATES = (
    SQUARED,
    ROOT,
    GROWING,
    ROUNDS,
    TO_THE_END,
    LINEAR,
    PRODUCT,
    FROM_ONE,
    OTHER_BASE,
    REVERSED,
)

POWER = "10_000.0 ** (-twice_i / d_model)"

FREQUENCIES = (
    Misconception(
        "one-for-each-feature",
        "there are D frequencies, one for each feature",
        "A frequency belongs to a pair of features, a sine and a cosine. There are D/2 pairs.",
        (
            change("(0, d_model, 2, ", "(0, d_model, "),
            change("(0, d_model, 2, ", "(0, d_model, ") + change("-twice_i", "-2 * twice_i"),
            change(POWER, f"({POWER}).repeat_interleave(2)"),
            change(POWER, f"({POWER}).repeat(2)"),
        ),
    ),
    *after(change(POWER, RATES), *OF_RATES),
    Misconception(
        "other-logarithm",
        "the exponential and the logarithm do not belong together",
        "exp undoes the natural logarithm only. Look for a log10, a log2, or a logarithm that is "
        "missing.",
        (
            *(
                change(POWER, f"torch.exp(-twice_i / d_model * {factor})")
                for factor in ("1.0", "10_000.0", "math.log10(10_000)", "math.log2(10_000)")
            ),
        ),
    ),
    *after(change(POWER, RATES), WHOLE_DIVISION),
    Misconception(
        "exponents-only",
        "these are the exponents 2i/D: nothing is raised to them",
        "The frequency is 10000 to the power of minus this.",
        (
            change(POWER, "twice_i / d_model"),
            change(POWER, "-twice_i / d_model"),
        ),
    ),
    Misconception(
        "logarithms",
        "these are the logarithms of the frequencies",
        "The exponential is missing at the end.",
        (
            change(POWER, f"torch.log({POWER})"),
            change(POWER, f"-torch.log({POWER})"),
        ),
    ),
    Misconception(
        "every-second-missing",
        "every second frequency is missing",
        "There is one for each i from 0 to D/2 - 1. Look at whether the range takes steps of 2 and "
        "stops at D/2.",
        (
            change("(0, d_model, 2, ", "(0, d_model, 4, "),
            change("(0, d_model, 2, ", "(0, d_model // 2, 2, "),
        ),
    ),
    Misconception(
        "an-axis-too-many",
        "the numbers are right, but there is an axis too many",
        "The result is (D/2,), a plain row. Look for unsqueeze, view, None or a pair of brackets "
        "too many.",
        (
            change(POWER, f"({POWER})[:, None]"),
            change(POWER, f"({POWER})[None]"),
        ),
    ),
    Misconception(
        "list",
        "the result is a list of numbers, not a tensor",
        "What comes after this multiplies with it, and a list cannot.",
        (change(POWER, f"({POWER}).tolist()"),),
        r"expected one tensor, received a (list|tuple)",
    ),
    Misconception(
        "few-digits",
        "the numbers have too few digits for float32",
        "Half precision keeps three digits, and an angle far out needs more. Look for half, "
        "bfloat16 or a rounding.",
        (
            *(
                change(POWER, f"({POWER}).{cast}")
                for cast in ("half()", "bfloat16()", "half().float()", "bfloat16().float()")
            ),
        ),
    ),
)


# --- the table, wherever it is made ----------------------------------------------------------

# The lines of `encode_positions`, in float64: the changes below are made to them.
PAIRS = "torch.stack([angles.sin(), angles.cos()], dim=-1)"
TABLE_WRITTEN_OUT = change(
    "    table = torch.empty(num_positions, d_model)\n"
    "    table[:, 0::2] = angles.sin()\n"
    "    table[:, 1::2] = angles.cos()\n"
    "    return table",
    f"    pairs = {PAIRS}\n    return pairs.flatten(start_dim=-2).float()",
)
IN_A_ROW = change(".flatten(start_dim=-2)", "")
EXCHANGED = change("angles.sin(), angles.cos()", "angles.cos(), angles.sin()")
ALTERNATING = IN_A_ROW + change(
    PAIRS, "torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())"
)
ONE_RATE_EACH = change(RATES, f"10_000.0 ** (-{EVERY_FEATURE} / d_model)")

FROM_POSITION_ONE = Misconception(
    "positions-from-one",
    "positions count from 1",
    "The first position is 0: sines 0, cosines 1. Look at where the range starts, and for a + 1.",
    (
        change(
            "torch.arange(num_positions, dtype=torch.float64)",
            "torch.arange(1, num_positions + 1, dtype=torch.float64)",
        ),
    ),
)
QUOTIENT = Misconception(
    "power-of-the-quotient",
    "the power is taken of pos / 10000, not of 10000 alone",
    "Python takes a power before a quotient, unless a bracket says otherwise. Look at what stands "
    "to the left of **.",
    (
        change(
            f"torch.outer(positions, {RATES})",
            f"(positions[:, None] / 10_000.0) ** ({TWICE_I} / d_model)",
        ),
    ),
)
HALVES = Misconception(
    "halves-side-by-side",
    "the sines and the cosines stand in two halves",
    "Some programs lay them out so; the paper takes them in turn: sine in the even columns, cosine "
    "in the odd ones.",
    (
        IN_A_ROW + change("stack(", "cat("),
        IN_A_ROW + change("stack(", "cat(") + EXCHANGED,
    ),
)
COSINE_FIRST = Misconception(
    "cosine-first",
    "the cosines stand where the sines belong",
    "Column 0 is a sine. At position 0 it is 0.",
    (EXCHANGED,),
)
OWN_FREQUENCY = Misconception(
    "odd-columns-have-their-own-frequency",
    "the sine and the cosine of a pair have different frequencies",
    "Columns 2i and 2i + 1 share one i, and so one angle. Look at what the cosine's exponent is "
    "made of.",
    (
        ALTERNATING + ONE_RATE_EACH,
        ALTERNATING + change(RATES, f"10_000.0 ** (-2 * {EVERY_FEATURE} / d_model)"),
    ),
)
ONE_KIND = Misconception(
    "only-sines-or-only-cosines",
    "there are only sines, or only cosines",
    "Each angle gives two features, a sine and a cosine.",
    (
        change("angles.cos()", "angles.sin()"),
        change("angles.sin()", "angles.cos()"),
        IN_A_ROW + ONE_RATE_EACH + change(PAIRS, "angles.sin()"),
    ),
)
NO_SINE = Misconception(
    "angles-only",
    "these are the angles: no sine or cosine is taken",
    "The angle itself grows without bound; its sine and cosine stay between -1 and 1.",
    (
        change("angles.sin(), angles.cos()", "angles, angles"),
        IN_A_ROW + ONE_RATE_EACH + change(PAIRS, "angles"),
    ),
)
EMPTY_COLUMNS = Misconception(
    "columns-left-empty",
    "every second column is still as it was made",
    "Both the even and the odd columns have to be filled. Look at where the slices start.",
    (
        change("angles.cos()", "0 * angles"),
        change("angles.sin(), angles.cos()", "angles.cos(), 0 * angles"),
        change("angles.sin()", "0 * angles"),
    ),
)
NOT_FLOAT32 = Misconception(
    "not-float32",
    "the numbers are right, but they are not float32",
    "float64 on the way is good; the finished table is cast once, at the end.",
    (
        change(".float()", ""),
        change(".float()", ".half()"),
    ),
)
ROUNDED_POSITIONS = Misconception(
    "positions-in-half-precision",
    "far positions are wrong: they were rounded to half precision",
    "bfloat16 has no 257, and float16 no 2049. Cast the finished table, never the positions.",
    (
        change("torch.outer(positions,", "torch.outer(positions.half().double(),"),
        change("torch.outer(positions,", "torch.outer(positions.bfloat16().double(),"),
        change("dtype=torch.float64)", "dtype=torch.float16).double()"),
        change("dtype=torch.float64)", "dtype=torch.bfloat16).double()"),
    ),
)

OF_TABLES = (
    *OF_RATES,
    WHOLE_DIVISION,
    HALVES,
    COSINE_FIRST,
    OWN_FREQUENCY,
    ONE_KIND,
    NO_SINE,
    EMPTY_COLUMNS,
    NOT_FLOAT32,
)

TABLE = (
    QUOTIENT,
    FROM_POSITION_ONE,
    *after(TABLE_WRITTEN_OUT, *OF_TABLES),
    ROUNDED_POSITIONS,
    Misconception(
        "degrees",
        "the angles are turned from radians to degrees, or the other way",
        "pos * w_i is in radians as it is, and so do sin and cos want it. Look for deg2rad, or a "
        "factor of pi / 180.",
        (
            change("table[:, 0::2]", "angles = angles.deg2rad()\n    table[:, 0::2]"),
            change("table[:, 0::2]", "angles = angles.rad2deg()\n    table[:, 0::2]"),
        ),
    ),
    Misconception(
        "position-zero-left-empty",
        "the row of position 0 is all zeros",
        "Programs that keep row 0 for padding do so. Here 0 is a position like any other: its "
        "cosines are 1.",
        (change("    return table", "    table[0] = 0.0\n    return table"),),
    ),
    Misconception(
        "transposed",
        "rows and columns have changed places: the result is (D, num_positions)",
        "Each row is one position. Look at which axis the positions vary along.",
        (change("return table", "return table.T"),),
    ),
    Misconception(
        "divided-by-the-length",
        "positions are divided by the number of positions",
        "Position 3 must look the same in a short table and in a long one.",
        (
            change("dtype=torch.float64)", "dtype=torch.float64) / num_positions"),
            change("torch.arange(num_positions, ", "torch.linspace(0, 1, num_positions, "),
        ),
    ),
    Misconception(
        "batch-axis",
        "the numbers are right, but there is an axis too many",
        "The table is (num_positions, D). An axis for the batch is added where the table is used.",
        (
            change("return table", "return table.unsqueeze(0)"),
            change("return table", "return table.unsqueeze(1)"),
        ),
    ),
    Misconception(
        "a-row-too-many-or-too-few",
        "the number of rows is not num_positions",
        "Positions go from 0 to num_positions - 1, both included. Look at where the range stops.",
        (
            change("    positions =", "    num_positions = num_positions + 1\n    positions ="),
            change("return table", "return table[1:]"),
            change("return table", "return table[:-1]"),
        ),
    ),
    Misconception(
        "scaled",
        "the sines and cosines are right, but the table is multiplied by a number",
        "All of them lie between -1 and 1, and the fastest ones reach both. Look for a "
        "normalisation or a square root at the end.",
        (
            change("return table", "return table / math.sqrt(d_model / 2)"),
            change("return table", "return table / math.sqrt(d_model)"),
            change("return table", "return table * math.sqrt(d_model)"),
        ),
    ),
)


# --- the shift -------------------------------------------------------------------------------

BLOCK = "[[cosine, sine], [-sine, cosine]]"
LAID_OUT = "torch.block_diag(*blocks)"
BY_HALVES = ".view(-1, 2, d_model // 2, 2).permute(1, 0, 3, 2).reshape(d_model, d_model)"
# Unlike math's, torch's cosine of infinity is NaN and no error.
WITH_TENSORS = (
    change(".tolist()", "") + change("math.cos(", "torch.cos(") + change("math.sin(", "torch.sin(")
)


def _blocks(*wrong: str) -> tuple[Change, ...]:
    """Return changes of the blocks: the entries c and s, row by row."""
    return tuple(change(BLOCK, f"[[{a}, {b}], [{c}, {d}]]") for a, b, c, d in map(_entries, wrong))


def _entries(block: str) -> list[str]:
    words = {"c": "cosine", "-c": "-cosine", "s": "sine", "-s": "-sine", "0": "0.0"}
    return [words[entry] for entry in block.split()]


def _turned(angle: str) -> Change:
    """Return the change of the angle by which a pair turns."""
    return change(
        "cosine, sine = math.cos(offset * omega), math.sin(offset * omega)",
        f"angle = {angle}\n        cosine, sine = math.cos(angle), math.sin(angle)",
    )


BY_PAIR = change(f"omega in {RATES}.tolist()", "twice_i in range(0, d_model, 2)")

SHIFT = (
    Misconception(
        "moves-back",
        "the matrix moves back by k: it is the transpose of the one asked for",
        "Most textbooks turn (cosine, sine) against the clock; here the sine stands first. For "
        "columns, row 0 has to give sin(a + b) from sin a and cos a. Look at the signs.",
        (*_blocks("c -s s c"),),
    ),
    Misconception(
        "no-minus",
        "a minus is missing, or stands at the wrong place: the block is no rotation",
        "Look at the two identities: sin(a + b) has a plus, cos(a + b) has a minus.",
        (*_blocks("c s s c", "c -s -s c", "c s s -c", "-c s s c"),),
    ),
    Misconception(
        "sine-and-cosine-exchanged",
        "sine and cosine have changed places in the blocks",
        "For k = 0 nothing moves, so M_0 is the identity: what stands on the diagonal must be 1 at "
        "angle 0.",
        (*_blocks("s c -c s", "s c c -s", "s c c s", "s -c c s"),),
    ),
    Misconception(
        "for-halves",
        "the matrix is for encodings with all sines first and then all cosines",
        "Here sine and cosine of a pair are neighbours, so that each block stands on the diagonal "
        "at rows and columns 2i and 2i + 1.",
        (
            change(
                LAID_OUT,
                f"{LAID_OUT}{BY_HALVES}",
            ),
            change(
                LAID_OUT,
                f"{LAID_OUT}{BY_HALVES}.T",
            ),
        ),
    ),
    Misconception(
        "one-angle-for-all",
        "every pair turns by the same angle",
        "Pair i turns by k * w_i, each by its own frequency.",
        (_turned("offset"),),
    ),
    Misconception(
        "offset-without-effect",
        "the offset has no effect on the angles",
        "Every pair turns by k times its frequency. Look at where k goes.",
        (
            _turned("omega"),
            change(LAID_OUT, "torch.eye(d_model)"),
        ),
    ),
    Misconception(
        "negative-offset-moves-forward",
        "a negative offset moves forward",
        "Sine changes its sign with the angle. Look for abs, or for a square.",
        (_turned("abs(offset) * omega"),),
    ),
    Misconception(
        "one-step-off",
        "the turn is by k + 1 or by k - 1 positions",
        "M_0 moves nothing, so that it is the identity. Look for a + 1 or a - 1 beside k.",
        (
            _turned("(offset + 1) * omega"),
            _turned("(offset - 1) * omega"),
        ),
    ),
    *after(WITH_TENSORS, *OF_RATES),
    with_wrong(
        QUOTIENT,
        BY_PAIR + _turned("(abs(offset) / 10_000.0) ** (twice_i / d_model)"),
        BY_PAIR
        + _turned("math.copysign(1, offset) * (abs(offset) / 10_000.0) ** (twice_i / d_model)"),
    ),
    Misconception(
        "no-sines",
        "there are only the cosines on the diagonal",
        "sin(a + b) needs cos a too, which stands in the column beside. Look at what is off the "
        "diagonal.",
        (*_blocks("c 0 0 c", "c s 0 c", "c 0 -s c"),),
    ),
    Misconception(
        "encoding-on-the-diagonal",
        "the diagonal holds the encoding of k: each feature is multiplied by a number",
        "No multiple of sin a is sin(a + b) for every a. Each new feature is made of both old ones "
        "of its pair.",
        (
            change(
                f"blocks.append(torch.tensor({BLOCK}))",
                "blocks += [torch.tensor([[sine]]), torch.tensor([[cosine]])]",
            ),
        ),
    ),
    Misconception(
        "moves-features",
        "the matrix moves features, not positions: it shifts or rolls the columns",
        "The encoding of the next position is no shifted copy. Each pair of features stays where "
        "it is and turns.",
        (
            change(LAID_OUT, "torch.ones(d_model, d_model).triu(offset).tril(offset)"),
            change(LAID_OUT, "torch.ones(d_model, d_model).triu(-offset).tril(-offset)"),
            change(LAID_OUT, "torch.eye(d_model).roll(offset, 0)"),
            change(LAID_OUT, "torch.eye(d_model).roll(offset, 1)"),
        ),
    ),
    Misconception(
        "blocks-not-on-the-diagonal",
        "the blocks are right, but not put on the diagonal of one matrix",
        "The result is (D, D), zero outside the blocks. Look at torch.block_diag, or fill a matrix "
        "of zeros.",
        (
            change(LAID_OUT, "torch.stack(blocks)"),
            change(LAID_OUT, "torch.cat(blocks, dim=1)"),
        ),
    ),
    Misconception(
        "blocks-overlap",
        "the blocks overlap: block i stands at rows and columns i and i + 1",
        "A block is two rows high, so that the next one starts two rows further down.",
        (
            change(
                "    return torch",
                "    matrix = torch.zeros(d_model, d_model)\n"
                "    for row, block in enumerate(blocks):\n"
                "        matrix[row : row + 2, row : row + 2] = block\n"
                "    return matrix\n"
                "    return torch",
            ),
        ),
    ),
    Misconception(
        "one-block-only",
        "there is only one 2x2 block",
        "There is one block for each of the D/2 pairs.",
        (
            change(LAID_OUT, "blocks[0]"),
            change(LAID_OUT, "blocks[-1]"),
        ),
    ),
)


# --- the module ------------------------------------------------------------------------------

ROWS = "self.table[:length].to(x.dtype)"
SUM = f"x + {ROWS}"
KEPT = 'self.register_buffer("table", table, persistent=False)'
UNLIMITED = change("if length > max_len:", "if False:")
TABLE_IN_MODULE = change(
    "        table = reference.sinusoidal_encoding(max_len, d_model)\n",
    "        positions = torch.arange(max_len, dtype=torch.float64)\n"
    f"        angles = torch.outer(positions, {RATES})\n"
    f"        pairs = {PAIRS}\n"
    "        table = pairs.flatten(start_dim=-2).float()\n",
)


def _unchecked(*entries: Misconception) -> tuple[Misconception, ...]:
    """Make the changes of some entries with the check of the length and without one."""
    return tuple(
        replace(entry, wrong=entry.wrong + after(UNLIMITED, entry)[0].wrong) for entry in entries
    )


MODULE = (
    Misconception(
        "position-by-batch",
        "the position is taken from the batch axis: all tokens of a sequence get the same row",
        "Widely copied code is for inputs (T, B, D); here x is (B, T, D). Look at which axis of x "
        "says how many rows are taken.",
        (
            change(ROWS, "self.table[: x.shape[0]].unsqueeze(1)"),
            change(ROWS, "self.table[: x.shape[0]].unsqueeze(1)")
            + change("max_len = x.shape[1]", "max_len = x.shape[0]"),
            change(ROWS, "self.table[: x.shape[0]].unsqueeze(1)") + UNLIMITED,
        ),
    ),
    *_unchecked(
        Misconception(
            "scaled-by-root-d",
            "x is multiplied by sqrt(D) before the positions are added",
            "That factor belongs to the embedding, which has already applied it.",
            (change(SUM, f"x * math.sqrt(x.shape[-1]) + {ROWS}"),),
        ),
        Misconception(
            "positions-only",
            "the result is the encoding without x",
            "Position is added to what is there; without x the token is lost.",
            (change(SUM, f"0 * x + {ROWS}"),),
        ),
        Misconception(
            "nothing-added",
            "x comes back without the positions",
            "Look at whether the sum is returned, and whether the table has been filled.",
            (change(SUM, f"x + 0 * {ROWS}"),),
        ),
        Misconception(
            "joined-not-added",
            "the positions are put beside x: the result is (B, T, 2D)",
            "They are added, feature by feature, so that the size stays D.",
            (change(SUM, f"torch.cat([x, {ROWS}.expand_as(x)], dim=-1)"),),
        ),
        Misconception(
            "multiplied",
            "x is multiplied by the positions",
            "The formula has a sum. A sine of 0 would wipe out the token.",
            (change(SUM, f"x * {ROWS}"),),
        ),
        Misconception(
            "whole-table",
            "the whole table is added, however long x is",
            "x has T positions and needs the first T rows.",
            (change(ROWS, "self.table"),),
            r"must match|broadcast",
        ),
        Misconception(
            "one-row-for-all",
            "one row of the table is added to all positions",
            "An index takes one row, a slice takes all rows up to it.",
            (
                change(ROWS, "self.table[length - 1]"),
                change(ROWS, "self.table[length]"),
                change(ROWS, "self.table[0]"),
            ),
        ),
        with_wrong(
            FROM_POSITION_ONE,
            change("(max_len, d_model)", "(max_len + 1, d_model)[1:]"),
            change(ROWS, "self.table[1 : length + 1]"),
        ),
        *after(TABLE_IN_MODULE, QUOTIENT, HALVES, COSINE_FIRST, SQUARED, OWN_FREQUENCY),
        Misconception(
            "table-is-trained",
            "the table is a parameter: training would change it",
            "It is a formula and has nothing to learn. Look at how the module keeps it; what moves "
            "with the module and is not trained is a buffer.",
            (change(KEPT, "self.table = nn.Parameter(table)"),),
        ),
        Misconception(
            "learned-vectors",
            "the positions are vectors to be learned, not sines and cosines",
            "Learned positions are another method, and a good one. Here the table is the formula.",
            (
                change(KEPT, "self.table = nn.Parameter(torch.randn_like(table))"),
                change(KEPT, "self.table = nn.Embedding(max_len, d_model).weight"),
                change(KEPT, "self.table = nn.Parameter(torch.zeros_like(table))"),
            ),
        ),
    ),
    Misconception(
        "other-error",
        "an x that is too long does not give a ValueError but some other error, or one by accident",
        "The sum fails by itself, with an error about sizes that names neither x nor the limit. "
        "Compare T with max_len first, and raise a ValueError that names both.",
        (UNLIMITED,),
    ),
    Misconception(
        "other-axis-checked",
        "it is not the length of x that is compared with max_len, but the size of another axis",
        "x is (B, T, D), and T is what must not be above max_len.",
        (
            change("if length >", "if x.shape[0] >"),
            change("if length >", "if x.shape[-1] >"),
        ),
        r"^ValueError",
    ),
    Misconception(
        "max-len-refused",
        "an x of exactly max_len positions is refused",
        "max_len positions are 0 .. max_len - 1, and all of them are in the table. Look at the "
        "comparison.",
        (change("if length >", "if length >="),),
        r"^ValueError",
    ),
    Misconception(
        "limit-one-too-high",
        "an x of max_len + 1 positions is not refused by the check, and fails after it",
        "The table has max_len rows. Look at the comparison.",
        (change("if length > max_len", "if length > max_len + 1"),),
    ),
    Misconception(
        "no-limit",
        "an x that is too long gets positions past max_len",
        "The contract says max_len, and a module that silently goes on hides a mistake. Raise a "
        "ValueError.",
        (
            UNLIMITED + change(ROWS, "reference.sinusoidal_encoding(length, x.shape[2]).to(x)"),
            UNLIMITED + change(ROWS, "self.table[torch.arange(length) % max_len]"),
            UNLIMITED + change(ROWS, "self.table[torch.arange(length).clamp(max=max_len - 1)]"),
        ),
    ),
    Misconception(
        "cut-off-in-silence",
        "of an x that is too long the end is lost, or gets no position, without a word",
        "A slice past the end of a tensor is no error in Python. Compare T with max_len first, and "
        "raise a ValueError.",
        (
            UNLIMITED + change(SUM, f"x[:, :max_len] + {ROWS}"),
            UNLIMITED + change(ROWS, f"F.pad({ROWS}, (0, 0, 0, max(0, length - max_len)))"),
        ),
    ),
    Misconception(
        "what-stays-for-what-goes",
        "1 - dropout is dropped, and not dropout",
        "`dropout` is the share of the numbers that become 0, and nn.Dropout asks for just that.",
        (change("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),),
    ),
    Misconception(
        "plain-attribute",
        "the table is a plain attribute, and stays behind when the module moves to a GPU",
        "module.to(device) takes parameters and buffers along, and no other tensor. Look at "
        "register_buffer.",
        (change(KEPT, "self.table = table"),),
        r"not on the expected device|on the same device",
    ),
    *_unchecked(
        Misconception(
            "dropout-never-off",
            "dropout is on in eval mode too",
            "nn.Dropout knows the mode of its module; the function F.dropout has to be told.",
            (change(f"self.dropout({SUM})", f"F.dropout({SUM}, self.dropout.p)"),),
        ),
        Misconception(
            "no-dropout",
            "there is no dropout, or its result is not used",
            "In training mode the sum goes through dropout. Look at what is returned.",
            (change(f"self.dropout({SUM})", SUM),),
        ),
        Misconception(
            "dropout-on-one-part",
            "dropout is applied to x or to the positions alone",
            "It is applied to the sum: dropout(x + pe).",
            (
                change(f"self.dropout({SUM})", f"x + self.dropout({ROWS})"),
                change(f"self.dropout({SUM})", f"self.dropout(x) + {ROWS}"),
            ),
        ),
    ),
    with_wrong(
        FLOAT32_ONLY,
        change(KEPT, "self.table = table") + change(ROWS, "self.table[:length]"),
        change(SUM, f"x.float() + {ROWS}.float()"),
    ),
    *_unchecked(
        with_wrong(DETACHED, no_gradients("forward"), change(SUM, f"x.detach() + {ROWS}")),
        with_wrong(
            CHANGES_INPUT,
            change(f"return self.dropout({SUM})", f"x += {ROWS}\n        return self.dropout(x)"),
        ),
    ),
)


# --- the bug ---------------------------------------------------------------------------------

ANGLES = "positions.unsqueeze(-1) / 10_000**exponents"
ANGLES_BY_RATES = change(ANGLES, f"positions.unsqueeze(-1) * {RATES}") + change(
    "start_dim=-2)", "start_dim=-2).float()"
)

BUG = (
    Misconception(
        "still-the-power-of-the-quotient",
        "the bug is still in it",
        "Take position 2 and D = 4, and go through the lines by hand. What is the first angle, and "
        "what should it be?",
        (change(ANGLES, "(positions.unsqueeze(-1) / 10_000) ** exponents"),),
    ),
    Misconception(
        "power-of-the-position",
        "now it is the position alone that is raised to the power",
        "One of the two numbers has the exponent in the formula. It is not the position.",
        (change(ANGLES, "positions.unsqueeze(-1) ** exponents / 10_000"),),
    ),
    Misconception(
        "exponent-as-factor",
        "the fraction 2i/D is multiplied in where it should be an exponent",
        "The power itself was right; the question is what it is the power of.",
        (change(ANGLES, "positions.unsqueeze(-1) / 10_000 * exponents"),),
    ),
    Misconception(
        "positions-ignored",
        "the positions that are given are not used: it counts from 0 itself",
        "A row may start anywhere, and positions may come in any order. Look at where the argument "
        "is used.",
        (
            change(
                "positions.unsqueeze(-1)",
                "torch.arange(positions.shape[-1]).expand_as(positions).unsqueeze(-1)",
            ),
            change("positions.unsqueeze(-1)", "torch.arange(positions.shape[-1]).unsqueeze(-1)"),
        ),
    ),
    with_wrong(FROM_POSITION_ONE, change("positions.unsqueeze", "(positions + 1).unsqueeze")),
    *after(ANGLES_BY_RATES, *OF_TABLES),
    with_wrong(
        ROUNDED_POSITIONS,
        *(
            ANGLES_BY_RATES + change("positions.un", f"positions.{cast}().double().un")
            for cast in ("half", "bfloat16")
        ),
    ),
)


# --- the effect of the order -----------------------------------------------------------------

BACK = "moved[:, order.argsort()]"
MOVED = "model(x[:, order])"
SIZE = "(back - plain).square().mean()"

EFFECT = (
    Misconception(
        "not-brought-back",
        "the tokens stand in the new order when they are compared",
        "Position t holds another token then, and even a model without order would seem to see "
        "it. Compare each token with itself.",
        (change(BACK, "moved"),),
    ),
    Misconception(
        "moved-twice",
        "the tokens are not brought back but moved once more by the same order",
        "That undoes a reversal, and not every order: if the first token goes to place 2, what "
        "stands at place 2 has to come back.",
        (change(BACK, "moved[:, order]"),),
    ),
    Misconception(
        "moved-the-other-way",
        "the tokens are moved by the inverse of the order that was asked for",
        "Token order[t] comes to position t. Look at which of the two ways is first.",
        (change(MOVED, "model(x[:, order.argsort()])") + change(BACK, "moved[:, order]"),),
    ),
    Misconception(
        "always-reversed",
        "the tokens are reversed, whatever `order` says",
        "`order` may be any permutation. Look at whether the function uses it.",
        (change(MOVED, "model(x.flip(1))") + change(BACK, "moved.flip(1)"),),
    ),
    Misconception(
        "undone-before-the-model",
        "the model sees the tokens in their old order: the effect is 0 for every model",
        "First the model, then back into place.",
        (
            change(MOVED, "model(x[:, order][:, order.argsort()])") + change(BACK, "moved"),
            change(MOVED, "model(x)[:, order]"),
        ),
    ),
    Misconception(
        "only-the-output-moved",
        "the model is asked only once, and its output is compared with itself in another order",
        "What counts is what the model makes of the tokens in the new order: ask it twice.",
        (change(MOVED, "model(x)") + change(BACK, "moved[:, order]"),),
    ),
    Misconception(
        "compared-with-the-input",
        "the output is compared with x, not with the output for the old order",
        "A model without order changes its input too. Compare two outputs.",
        (change("back - plain", "back - x"), change("back - plain", "moved - x[:, order]")),
    ),
    Misconception(
        "another-axis-moved",
        "it is not the tokens that are moved, but the sequences of the batch or the features",
        "x is (B, T, D), and the tokens are axis 1.",
        (
            change(MOVED, "model(x[order])") + change(BACK, "moved[order.argsort()]"),
            change(MOVED, "model(x[..., order])") + change(BACK, "moved[..., order.argsort()]"),
        ),
        r"out of bounds|^ValueError: model takes",
    ),
    Misconception(
        "one-position-only",
        "only the first or the last token is measured",
        "The order may matter for some tokens and not for others. Average over all of them.",
        (
            change("back - plain", "back[:, 0] - plain[:, 0]"),
            change("back - plain", "back[:, -1] - plain[:, -1]"),
        ),
    ),
    Misconception(
        "absolute",
        "the absolute difference is averaged, not the squared one",
        "The size of the effect is the mean of the squares.",
        (change(SIZE, "(back - plain).abs().mean()"),),
    ),
    Misconception(
        "summed",
        "squared differences are added up, not averaged over all numbers",
        "The mean runs over all B * T * D numbers. Look at what each reduction divides by.",
        (
            change(SIZE, "(back - plain).square().sum()"),
            change(SIZE, "(back - plain).square().sum(dim=-1).mean()"),
            change(SIZE, "((back - plain).square().sum() / len(x))"),
        ),
    ),
    Misconception(
        "root-taken",
        "a root is taken of the mean of the squares",
        "The size is the mean of the squared difference itself. Look for sqrt, norm or std.",
        (
            change(SIZE, "(back - plain).square().mean().sqrt()"),
            change(SIZE, "(back - plain).norm()"),
        ),
    ),
    Misconception(
        "averaged-before-squared",
        "differences up and down cancel each other, as the mean is taken first",
        "A difference of -2 is as large as one of 2. Square every number, then average.",
        (
            change(SIZE, "(back - plain).mean()"),
            change(SIZE, "(back - plain).mean().square()"),
            change(SIZE, "(back - plain).mean(dim=1).square().mean()"),
        ),
    ),
    with_wrong(TENSOR_FOR_NUMBER, change(".mean().item()", ".mean()")),
)


# --- what only the distance decides ----------------------------------------------------------

SCORES = "table @ table.T"
DIAGONAL = "scores.diagonal(k)"
EVERY_K = "range(len(table) - 1)"
SPREAD = "same_distance.max() - same_distance.min() < 0.001"

DISTANCES = (
    Misconception(
        "one-distance-for-all",
        "one distance is measured, and what holds for it is said of all",
        "Rows of the same length have the same score with themselves, and neighbours may be alike "
        "where others are not. Measure every k by itself.",
        (
            change(DIAGONAL, "scores.diagonal(0)"),
            change(DIAGONAL, "scores.diagonal(1)"),
        ),
    ),
    Misconception(
        "first-places-only",
        "only the first two pairs of each distance are compared",
        "What holds at the start of the table may fail at its end. Compare all pairs of one k.",
        (change(DIAGONAL, "scores.diagonal(k)[:2]"),),
    ),
    Misconception(
        "up-to-the-first-that-fails",
        "the list ends at the first distance that fails",
        "A larger distance may hold again, as in a table that repeats itself. Go on to L - 2.",
        (
            change(
                "            found.append(k)\n",
                "            found.append(k)\n        else:\n            break\n",
            ),
        ),
    ),
    Misconception(
        "rounding-counts",
        "scores that differ by rounding alone are taken for different",
        "Sums in floating point are hardly ever equal to the last digit. The text says which "
        "difference counts.",
        (
            change(SPREAD, "(same_distance == same_distance[0]).all()"),
            change(SPREAD, "torch.allclose(same_distance, same_distance[:1])"),
        ),
    ),
    Misconception(
        "rows-not-scores",
        "the differences of the rows are compared, not their dot products",
        "A query meets a key by a dot product. Two clock hands turn by the same angle while the "
        "difference of their tips changes.",
        (
            change(DIAGONAL, "table[k:] - table[: len(table) - k]")
            + change(
                "same_distance.max() - same_distance.min() < 0.001",
                "(same_distance - same_distance[0]).abs().max() < 0.001",
            ),
        ),
    ),
    Misconception(
        "distance-of-the-vectors",
        "how far two rows are apart is measured, not their dot product",
        "For rows of one length the two say the same, and only for them.",
        (change(SCORES, "torch.cdist(table, table)"),),
    ),
    Misconception(
        "cosine",
        "the rows are brought to length 1 before they are compared",
        "A score is the dot product as it is: a longer row has larger scores.",
        (change(SCORES, "F.normalize(table, dim=-1) @ F.normalize(table, dim=-1).T"),),
    ),
    Misconception(
        "features-with-features",
        "the scores are those of features with features, not of positions with positions",
        "The matrix of scores is (L, L). Look at which of the two is transposed.",
        (change(SCORES, "table.T @ table"),),
    ),
    Misconception(
        "other-diagonal",
        "the pairs whose places have the same sum are compared, not those of the same distance",
        "A distance runs from the upper left to the lower right in the matrix of scores.",
        (
            change(DIAGONAL, "scores.flip(0).diagonal(k)"),
            change(DIAGONAL, "scores.flip(1).diagonal(k)"),
        ),
    ),
    Misconception(
        "wraps-around",
        "the end of the table is paired with its beginning",
        "roll brings what falls out at one end in at the other: those rows are not k apart. There "
        "are L - k pairs.",
        (change(DIAGONAL, "(table * table.roll(-k, 0)).sum(-1)"),),
    ),
    Misconception(
        "turned-round",
        "these are the distances at which the scores are not the same",
        "Asked for are those at which they are. Look at the comparison.",
        (change("< 0.001", ">= 0.001"),),
    ),
    Misconception(
        "last-or-first-distance",
        "the list begins or ends one distance too early or too late",
        "k runs from 0, a row with itself, to L - 2, the last distance with two pairs.",
        (
            change(EVERY_K, "range(len(table))"),
            change(EVERY_K, "range(len(table) - 2)"),
            change(EVERY_K, "range(1, len(table) - 1)"),
            change(EVERY_K, "range(1, len(table))"),
        ),
    ),
    Misconception(
        "spread-of-all-distances",
        "all scores are compared with each other, or with one of them",
        "Scores of different distances may differ. Compare those of one distance only.",
        (
            change(SPREAD, "scores.max() - scores.min() < 0.001"),
            change(SPREAD, "(same_distance - scores[0, 0]).abs().max() < 0.001"),
        ),
    ),
    Misconception(
        "differences-cancel",
        "the differences are averaged with their signs, so that up and down cancel",
        "Look at the largest difference, or at the mean of absolute ones.",
        (change(SPREAD, "(same_distance - same_distance.mean()).mean().abs() < 0.001"),),
    ),
    with_wrong(TENSOR_FOR_NUMBER, change("    return found", "    return torch.tensor(found)")),
)

MISCONCEPTIONS = {
    "frequencies": FREQUENCIES,
    "sinusoidal_encoding": TABLE,
    "shift_matrix": SHIFT,
    "PositionalEncoding": MODULE,
    "find_the_bug": BUG,
    "order_effect": EFFECT,
    "consistent_distances": DISTANCES,
}
