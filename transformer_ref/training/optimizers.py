"""Optimizers: AdamW, or Muon for the hidden matrices and AdamW for the rest."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_ref.device import has_bfloat16
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
            Muon(hidden, lr=config.muon_learning_rate, weight_decay=config.weight_decay)
        )
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


class Muon(torch.optim.Muon):
    """torch's Muon, which rounds its steps to bfloat16 only where that is faster.

    torch's own rounds every update, which takes a processor without instructions for bfloat16 a
    hundred times as long: most of the time of a run of the speller.
    With them, a matrix of 256 x 1,024 takes a third of the time, and one of 128 x 128 no less.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; `closure`, if given, computes the loss again, which is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            updates: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    direction = self._direction(weight, weight.grad, group["momentum"])
                    updates[weight.shape].append((weight, direction))
            for (rows, columns), pairs in updates.items():
                weights = [weight for weight, _ in pairs]
                # A GPU waits for launches, not for work: matrices of one shape share theirs.
                update = orthogonal(torch.stack([direction for _, direction in pairs]))
                torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
                scale = -group["lr"] * math.sqrt(max(1, rows / columns))
                torch._foreach_add_(weights, list(update.to(weights[0]).unbind()), alpha=scale)
        return loss

    def _direction(self, weight: Tensor, grad: Tensor, momentum: float) -> Tensor:
        """Return where a weight would go if no singular value were changed."""
        state = self.state[weight]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(grad)
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        rough = min(weight.shape) >= 256 and has_bfloat16(weight.device)
        direction = grad.lerp(mean, momentum)
        return direction.bfloat16() if rough else direction


def orthogonal(matrix: Tensor) -> Tensor:
    """Bring all singular values of matrices near one, and keep their singular vectors.

    Five steps of ``a x + b x^3 + c x^5`` on the singular values, which take any of 0.01 to 1 to
    between 0.6 and 1.3.

    Args:
        matrix: (..., M, N) of a floating dtype.

    Returns:
        (..., M, N), same dtype.

    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks", which
    has the three numbers.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[-2] > matrix.shape[-1]
    turned = matrix.mT if tall else matrix
    turned = turned / turned.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = turned @ turned.mT
        turned = a * turned + (b * gram + c * gram @ gram) @ turned
    return turned.mT if tall else turned


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
