"""Optimizers: AdamW, or Muon for the hidden matrices and AdamW for the rest."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from transformer_ref.training.config import TrainingConfig


def make_optimizers(
    model: nn.Module, config: TrainingConfig, device: torch.device
) -> list[torch.optim.Optimizer]:
    """AdamW for all weights, or Muon for the hidden matrices and AdamW for the rest.

    Source: Loshchilov and Hutter 2019 (AdamW); Jordan et al. 2024, "Muon: An optimizer for hidden
    layers in neural networks".
    """
    hidden = hidden_matrices(model) if config.optimizer == "muon" else []
    taken = set(map(id, hidden))
    rest = [weight for weight in model.parameters() if id(weight) not in taken]
    # Decay pulls towards zero, which keeps matrices small. The weight of a LayerNorm belongs near
    # one, and a bias is needed as large as it is, so vectors are left alone, as BERT's are.
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in rest if weight.ndim >= 2]},
        {"params": [weight for weight in rest if weight.ndim < 2], "weight_decay": 0.0},
    ]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(
            groups,
            lr=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
            fused=device.type == "cuda" or None,  # one kernel for all weights
        )
    ]
    if hidden:
        optimizers.append(
            torch.optim.Muon(hidden, lr=config.muon_learning_rate, weight_decay=config.weight_decay)
        )
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


def hidden_matrices(model: nn.Module) -> list[Tensor]:
    """The matrices between the embeddings and the output: those of all linear layers but it."""
    modules = dict(model.named_modules())
    embeddings = {id(m.weight) for m in modules.values() if isinstance(m, nn.Embedding)}
    matrices = {
        id(module.weight): module.weight
        for name, module in modules.items()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] != "output_proj"
    }
    return [matrix for key, matrix in matrices.items() if key not in embeddings]
