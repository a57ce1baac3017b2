"""Wrong answers to the tasks of gpt, as beginners write them."""

import torch

from tests.checks.material.unseen import wrong

text = torch.arange(10, 20)
block_size = 3


# gpt.lm_batch


# gpt.GPT


# gpt.find_the_bug


# gpt.load_gpt2


# gpt.largest_batch


def _parameters(vocab_size, d_model, d_ff, num_layers, max_len):
    layer = 4 * (d_model * d_model + d_model) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model
    return vocab_size * d_model + max_len * d_model + num_layers * layer + 2 * d_model


@wrong("gpt.largest_batch", "true division: a float", relation="form")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free / (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "no table of tokens", relation="other-question")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    numbers = _parameters(vocab_size, d_model, d_ff, num_layers, max_len) - vocab_size * d_model
    return max(0, (memory - 2 * numbers) // (4 * num_layers * max_len * d_model))
