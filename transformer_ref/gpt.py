"""GPT: the Transformer without encoder and cross-attention, which only goes on with a text.

What is left is the encoder's layer with a causal mask.

Source: Radford et al. 2018 (GPT) and 2019 (GPT-2).
"""

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn

from transformer_ref._validate import (
    require_at_least_one,
    require_choice,
    require_ids,
    require_model_config,
    require_token_id,
)
from transformer_ref.cache import KVCache
from transformer_ref.decoding import Choice, evaluation_mode, extend, likeliest, random_choice
from transformer_ref.embeddings import TokenEmbedding
from transformer_ref.gpt2 import config_of_gpt2, renamed
from transformer_ref.layers import Activation, EncoderLayer, Norm, last_norm
from transformer_ref.masks import PreparedMask, later_rows
from transformer_ref.positions import Positions, make_positions
from transformer_ref.pretrained import PretrainedModel


@dataclass(frozen=True)
class GPTConfig:
    """Every size and choice of a decoder-only model; the defaults are GPT-2's smallest.

    Attributes:
        vocab_size: V, the number of tokens.
        d_model: D, the features of a vector.
        num_heads: H, divides D.
        num_layers: at least 1.
        d_ff: hidden size of the feed-forward networks.
        max_len: the longest sequence.
        dropout: one rate for all dropouts.
        norm: "pre" (GPT-2) or "post" (the first GPT).
        positions: "learned" or "sinusoidal".
        activation: "gelu" (its tanh form, GPT-2), "gelu_exact" or "relu".
        tie_weights: whether the embedding is the output projection too.

    Raises:
        ValueError: naming the first field that does not fit.

    Source: Radford et al. 2019, section 2.3.
    """

    vocab_size: int
    d_model: int = 768
    num_heads: int = 12
    num_layers: int = 12
    d_ff: int = 3072
    max_len: int = 1024
    dropout: float = 0.1
    norm: Norm = "pre"
    positions: Positions = "learned"
    activation: Activation = "gelu"
    tie_weights: bool = True

    def __post_init__(self) -> None:
        """Refuse what no model could be built from."""
        require_model_config(self)
        require_choice("activation", self.activation, get_args(Activation))


_ENDS_A_SUBLAYER = ("out_proj.weight", "linear2.weight", "down.weight")


class GPT(PretrainedModel):
    """A decoder-only Transformer: each position scores the token after it.

    The embedding is not scaled by sqrt(D), as in GPT-2, so it starts with std 0.02.
    With pre-norm the matrices that end a sublayer start smaller by 1 / sqrt(2 num_layers),
    as the residual stream is the sum of what all 2 num_layers sublayers add.

    Args:
        config: sizes and choices.
    """

    config_class = GPTConfig

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(
            config.vocab_size, config.d_model, pad_id=None, init_std=0.02, scale=1.0
        )
        self.positions: nn.Module = make_positions(
            config.positions, config.d_model, config.max_len, config.dropout
        )
        sizes = config.d_model, config.num_heads, config.d_ff, config.dropout, config.norm
        self.layers = nn.ModuleList(
            EncoderLayer(*sizes, config.activation) for _ in range(config.num_layers)
        )
        self.norm = last_norm(config.norm, config.d_model)
        self.output_proj = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_weights:
            self.output_proj.weight = self.embedding.weight
        else:
            nn.init.normal_(self.output_proj.weight, std=0.02)
        if config.norm == "pre":
            self._shrink_what_is_added()

    @torch.no_grad()
    def _shrink_what_is_added(self) -> None:
        for name, weight in self.layers.named_parameters():
            if name.endswith(_ENDS_A_SUBLAYER):
                weight.mul_((2 * len(self.layers)) ** -0.5)

    def forward(
        self, ids: Tensor, cache: KVCache | None = None, *, check_ids: bool = True
    ) -> Tensor:
        """Score the token after each position.

        Args:
            ids: (B, T) integer ids; with a `cache` the new ones only.
            cache: what earlier calls have computed; it is extended, unless the call fails.
            check_ids: look whether the ids are in the vocabulary, for which a GPU waits.

        Returns:
            logits (B, T, V); position t has seen the tokens 0..t.

        Raises:
            ValueError: on ids out of the vocabulary, more than max_len tokens, or a cache for
                another number of layers or filled with another batch.
        """
        offset = cache.length if cache is not None else 0
        embedded = self.embedding(ids, check_ids=check_ids)  # (B, T, D)
        x = self.positions(embedded, offset)  # (B, T, D)
        so_far = ids if cache is None else cache.begin(ids, self.config.num_layers)
        mask = PreparedMask.of(later_rows(ids.shape[1], offset, ids.device))
        for index, layer in enumerate(self.layers):
            own = cache.layers[index] if cache is not None else None
            x = layer(x, mask, is_causal=offset == 0, cache=own)  # (B, T, D)
        logits = self.output_proj(self.norm(x))  # (B, T, V)
        if cache is not None:
            cache.keep(so_far)
        return logits

    @staticmethod
    def from_gpt2(model: nn.Module) -> "GPT":
        """Take over the weights of a GPT-2 of the ``transformers`` library.

        Args:
            model: a ``GPT2LMHeadModel``.

        Returns:
            A GPT in eval mode with the same logits, on the same device and of the same dtype;
            also where a subclass is asked, whose layers have other weights.

        Raises:
            ValueError: if `model` is another one, or its config asks for what is not in this class.
        """
        own, state = GPT(GPTConfig(**config_of_gpt2(model))), renamed(model.state_dict())
        first = state["embedding.embedding.weight"]
        own = own.to(device=first.device, dtype=first.dtype)
        own.load_state_dict(state)
        return own.eval()


def generate(
    model: GPT,
    ids: Tensor,
    max_new_tokens: int,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_id: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Go on with texts, one token at a time.

    Args:
        model: it is run in eval mode and left as it came.
        ids: (B, T) integer ids, the prompts; all of one length, as there is no padding.
        max_new_tokens: how many tokens to append, at least 1.
        temperature: 0 takes the likeliest token; above 0 draws as
            :func:`~transformer_ref.decoding.sample` does, with `top_k` and `top_p`.
        top_k: draw from the so many likeliest tokens only; None = all.
        top_p: draw from the likeliest tokens that together have this probability; None = all.
        eos_id: ends a row, which is then filled up with it; None = no token does.
        generator: gives the random numbers, on the device of `ids`; None = torch's global one.
        use_cache: keep keys and values of earlier tokens; False gives the same tokens more slowly.

    Returns:
        (B, <= T + max_new_tokens) int64, the prompts and what follows them;
        shorter only if `eos_id` ended every row before.

    Raises:
        ValueError: if the model has no room for so many tokens, an id is outside the vocabulary,
            or a choice of sampling is out of range.
    """
    # Checked here and never again: the model says no ids but those of its vocabulary.
    require_ids("ids", ids, model.config.vocab_size, model.embedding.weight.device)
    require_at_least_one(max_new_tokens=max_new_tokens)
    length = ids.shape[1] + max_new_tokens
    if length > model.config.max_len:
        raise ValueError(
            f"max_new_tokens must leave room within max_len = {model.config.max_len}, "
            f"got {ids.shape[1]} + {max_new_tokens}"
        )
    if eos_id is not None:
        require_token_id(model.config.vocab_size, eos_id=eos_id)
    choose: Choice = likeliest
    if temperature or top_k is not None or top_p is not None:
        choose = random_choice(temperature, top_k, top_p, generator, ids.device)
    with torch.inference_mode(), evaluation_mode(model):
        scorer = _PromptScorer(model, use_cache)
        answer = extend(scorer, ids.long(), length, choose, eos_id, pad_id=eos_id or 0)
    return answer.clone()  # an ordinary tensor, which autograd takes


class _PromptScorer:
    """A GPT at work on one batch of prompts."""

    def __init__(self, model: GPT, use_cache: bool) -> None:
        self.model = model
        self.cache = KVCache(model.config.num_layers) if use_cache else None

    def next_logits(self, ids: Tensor) -> Tensor:
        unread = ids if self.cache is None else ids[:, self.cache.length :]
        return self.model(unread, self.cache, check_ids=False)[:, -1]

    def select(self, rows: Tensor, same_source: bool = False) -> None:
        if self.cache is not None:
            self.cache.select(rows, same_source)
