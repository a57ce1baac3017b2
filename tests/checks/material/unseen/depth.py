"""Wrong answers to the tasks of depth, as beginners write them."""

import math

import torch

from tests.checks.material.unseen import wrong

# depth.cnn_receptive_field


# depth.previous_token_weights


@wrong("depth.previous_token_weights", "the matrix has its ones above the diagonal", "looks-ahead")
def _(places, sharpness):
    length, size = places.shape
    move = torch.diag(torch.ones(size - 1, dtype=places.dtype), 1)
    scores = sharpness * (places @ move) @ places.T / math.sqrt(size)
    return torch.softmax(scores.masked_fill(torch.ones(length, length).triu(1) > 0, -1e9), -1)


# depth.logit_lens


# depth.damage_by_key


# depth.needed_offset


# depth.find_the_bug
