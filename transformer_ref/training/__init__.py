"""Training: teacher forcing, a loss without padding, warm-up, and a loop that survives a kill.

Source: Vaswani et al. 2017, section 5.
"""

from transformer_ref.batching import Example, bucketed_batches, pad_batch, token_batches
from transformer_ref.training.config import TrainingConfig
from transformer_ref.training.losses import Batch, Loss, sequence_loss, split_target
from transformer_ref.training.run_state import StepRecord
from transformer_ref.training.schedules import noam_learning_rate, trapezoid_learning_rate
from transformer_ref.training.trainer import Trainer

__all__ = [
    "Batch",
    "Example",
    "Loss",
    "StepRecord",
    "Trainer",
    "TrainingConfig",
    "bucketed_batches",
    "noam_learning_rate",
    "pad_batch",
    "sequence_loss",
    "split_target",
    "token_batches",
    "trapezoid_learning_rate",
]

# Their one address, in errors and on the pages of the book; the modules behind may change.
# Those with dataclasses do not postpone annotations: names in them are looked up here.
for _public in (
    Batch,
    StepRecord,
    Trainer,
    TrainingConfig,
    noam_learning_rate,
    sequence_loss,
    split_target,
    trapezoid_learning_rate,
):
    _public.__module__ = __name__
