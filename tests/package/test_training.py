"""Training: the loss against its definition, the schedules, a run against a plain loop of torch."""

import copy
import csv
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
from dataclasses import asdict, astuple, replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.marks import weekly
from tests.package.training_runs import RUN, TINY, new_trainer, reversal_examples
from transformer_ref import Transformer
from transformer_ref.batching import bucketed_batches, token_batches
from transformer_ref.device import pick_device
from transformer_ref.experiments.results import load_results
from transformer_ref.gpt import GPT, GPTConfig
from transformer_ref.training import (
    Trainer,
    TrainingConfig,
    noam_learning_rate,
    sequence_loss,
    split_target,
    trapezoid_learning_rate,
)
from transformer_ref.training import trainer as trainer_module
from transformer_ref.training.optimizers import Muon, hidden_matrices


def raises(error, message):
    """Expect an error with this whole message, a regular expression."""
    return pytest.raises(error, match=rf"(?s)\A{message}\Z")


# Without dropout, and in float64, where the order of a sum does not matter.
EXACT = {"model": replace(TINY, dropout=0.0), "dtype": torch.float64}

# --- loss and schedules -------------------------------------------------------------------------


def test_split_target_shifts_by_one(device):
    ids = torch.tensor([[1, 5, 6, 2, 0]], device=device)
    inputs, labels = split_target(ids)
    assert inputs.tolist() == [[1, 5, 6, 2]]
    assert labels.tolist() == [[5, 6, 2, 0]]
    assert split_target(ids[:, :2])[1].tolist() == [[5]]


LABELS = [[3, 1, 2, 0], [5, 0, 0, 0]]
REAL = [(0, 0), (0, 1), (0, 2), (1, 0)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_is_the_mean_over_real_labels(device, smoothing):
    logits = torch.randn(2, 4, 7, dtype=torch.float64, device=device)
    labels = torch.tensor(LABELS, device=device)
    log_probabilities = logits.log_softmax(-1)
    total = 0.0
    for b, t in REAL:
        row = log_probabilities[b, t]
        total -= (1 - smoothing) * row[labels[b, t]] + smoothing * row.mean()
    loss = sequence_loss(logits, labels, pad_id=0, label_smoothing=smoothing)
    torch.testing.assert_close(loss, total / len(REAL), rtol=1e-12, atol=0)


def test_loss_takes_int32_labels_and_a_pad_id_outside_the_vocabulary(device):
    logits = torch.randn(2, 4, 7, dtype=torch.float64, device=device)
    labels = torch.tensor(LABELS, device=device)
    expected = sequence_loss(logits, labels, pad_id=0)
    assert torch.equal(sequence_loss(logits, labels.int(), pad_id=0), expected)
    for pad_id in (-100, 7):
        other = labels.masked_fill(labels == 0, pad_id)
        assert torch.equal(sequence_loss(logits, other, pad_id=pad_id), expected)


def test_loss_gives_padding_no_gradient(device):
    logits = torch.randn(1, 3, 7, device=device, requires_grad=True)
    sequence_loss(logits, torch.tensor([[4, 0, 0]], device=device), pad_id=0).backward()
    assert logits.grad[0, 0].abs().sum() > 0
    assert logits.grad[0, 1:].abs().sum() == 0


@pytest.mark.parametrize(("vocab_size", "largest"), [(10, 0.12), (10_000, 1.2e-4)])
def test_smoothing_that_leaves_label_and_pad_out_differs_by_eps_over_v(vocab_size, largest):
    eps, pad, label = 0.1, 0, 3
    logits = torch.randn(1, 1, vocab_size, dtype=torch.float64)
    logits[..., label] += 5  # a model that has learnt something
    logits[..., pad] -= 5
    loss = sequence_loss(logits, torch.tensor([[label]]), pad, label_smoothing=eps)

    target = torch.full((vocab_size,), eps / (vocab_size - 2), dtype=torch.float64)
    target[label], target[pad] = 1 - eps, 0.0
    surprise = -logits[0, 0].log_softmax(-1)
    other_loss = target @ surprise
    others = [index for index in range(vocab_size) if index not in (label, pad)]
    difference = eps / vocab_size * (surprise[label] + surprise[pad] - 2 * surprise[others].mean())
    torch.testing.assert_close(loss - other_loss, difference, rtol=1e-9, atol=1e-12)
    assert 0 < abs(difference) < largest

    divergence = F.kl_div(-surprise, target, reduction="sum")
    entropy = -torch.special.xlogy(target, target).sum()
    torch.testing.assert_close(other_loss - divergence, entropy, rtol=1e-9, atol=0)


def test_noam_peaks_at_the_end_of_the_warm_up():
    # The paper's base model: d_model 512, 4,000 steps of warm-up; the peak is 1/sqrt(512 * 4000).
    rates = [noam_learning_rate(step, 512, 4000) for step in range(1, 10_001)]
    assert max(range(10_000), key=rates.__getitem__) + 1 == 4000
    assert rates[3999] == pytest.approx(1 / math.sqrt(512 * 4000))
    assert rates[1999] == pytest.approx(rates[3999] / 2)
    assert rates[9999] == pytest.approx(1 / math.sqrt(512 * 10_000))


def test_trapezoid_rises_stays_and_falls():
    rates = [trapezoid_learning_rate(step, 2.0, 10, 100, 0.3) for step in range(1, 101)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[9:70] == [2.0] * 61
    assert rates[70] == 2.0  # the fall takes 30 steps, from here to a rate just above zero
    assert rates[71] == pytest.approx(2.0 * 29 / 30)
    assert rates[-1] == pytest.approx(2.0 / 30)
    assert all(a > b for a, b in itertools.pairwise(rates[70:]))
    assert trapezoid_learning_rate(100, 2.0, 10, 100, 0.0) == 2.0


def test_the_config_chooses_the_schedule():
    config = TrainingConfig(learning_rate=0.5, warmup=10, decay_fraction=0.4)
    for step in range(1, 51):
        expected = trapezoid_learning_rate(step, 0.5, 10, 50, 0.4)
        assert config.learning_rate_at(step, 50) == expected
    noam = replace(config, schedule="noam")
    assert noam.learning_rate_at(10, 50) == pytest.approx(0.5)
    paper = replace(noam, learning_rate=(512 * 10) ** -0.5)
    for step in range(1, 51):
        expected = noam_learning_rate(step, 512, 10)
        assert paper.learning_rate_at(step, 50) == pytest.approx(expected, rel=1e-12)


# --- a run against a plain loop -----------------------------------------------------------------

FULL = TrainingConfig(
    epochs=2,
    batch_size=8,
    learning_rate=2e-2,
    warmup=4,
    decay_fraction=0.5,
    betas=(0.8, 0.95),
    weight_decay=0.1,
    clip_norm=0.7,
    label_smoothing=0.1,
    seed=5,
    save_every=3,
)


def plain_loop(config, device, model=TINY, pad_id=0):
    """The losses and weights of the same run, written out with nothing but torch."""
    torch.manual_seed(0)
    network = Transformer(model).to(device)
    examples = reversal_examples()
    # Matrices decay; biases and the weights of LayerNorm do not.
    vectors = [p for name, p in network.named_parameters() if "bias" in name or "norm" in name]
    matrices = [p for p in network.parameters() if not any(p is vector for vector in vectors)]
    assert {p.ndim for p in matrices} == {2}
    optimizer = torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}],
        betas=config.betas,
        weight_decay=config.weight_decay,
        fused=device.type == "cuda" or None,
    )
    torch.manual_seed(config.seed)
    losses, step, total = [], 0, 7 * config.epochs
    for epoch in range(config.epochs):
        for batch in bucketed_batches(examples, config.batch_size, config.seed + epoch):
            step += 1
            columns = []
            for rows in ([examples[i][0] for i in batch], [examples[i][1] for i in batch]):
                width = max(map(len, rows))
                padded = [row + [pad_id] * (width - len(row)) for row in rows]
                columns.append(torch.tensor(padded, device=device))
            src, tgt = columns
            for group in optimizer.param_groups:
                group["lr"] = trapezoid_learning_rate(
                    step, config.learning_rate, config.warmup, total, config.decay_fraction
                )
            half = config.precision == "bfloat16"
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
                logits = network(src, tgt[:, :-1])
            assert logits.dtype == (torch.bfloat16 if half else torch.float32)
            loss = F.cross_entropy(
                logits.float().flatten(0, 1),
                tgt[:, 1:].flatten(),
                ignore_index=pad_id,
                label_smoothing=config.label_smoothing,
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), config.clip_norm)
            optimizer.step()
            losses.append(loss.item())
    return losses, network.state_dict()


def assert_same_weights(model, expected, **tolerance):
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, expected[name], **(tolerance or {"rtol": 0, "atol": 0}))


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(FULL, id="float32"),
        pytest.param(replace(FULL, precision="bfloat16"), id="bfloat16"),
        pytest.param(replace(TrainingConfig(), epochs=2, batch_size=8), id="defaults"),
    ],
)
def test_a_run_is_the_plain_loop_to_the_bit(device, config):
    losses, weights = plain_loop(config, device)
    trainer = new_trainer(config=config, device=device)
    assert trainer.train(progress=False) == losses
    assert_same_weights(trainer.model, weights)


def test_another_pad_id_is_obeyed(device):
    model = replace(TINY, pad_id=11)  # a token that some examples contain
    losses, _ = plain_loop(FULL, device, model, pad_id=11)
    torch.manual_seed(0)
    trainer = Trainer(Transformer(model), reversal_examples(), FULL, pad_id=11, device=device)
    trainer.train(progress=False)
    assert trainer.losses == losses
    labels = [label for _, target in reversal_examples() for label in target[1:]]
    assert 11 in labels
    assert trainer.history[6].tokens == sum(label != 11 for label in labels)


def test_the_defaults_are_those_of_the_model_that_ships():
    shipped = load_results("g2p")["training"]
    ours = json.loads(json.dumps(asdict(TrainingConfig())))
    changed = {name for name, value in shipped.items() if ours[name] != value}
    assert changed == {"epochs", "precision"}


@pytest.mark.parametrize("precision", ["float32", *weekly("bfloat16", "float16")])
def test_a_small_model_learns_to_reverse(device, precision):
    config = replace(RUN, epochs=15, label_smoothing=0.0, precision=precision)
    trainer = new_trainer(config=config, device=device, model=replace(TINY, dropout=0.0))
    losses = trainer.train(progress=False)
    assert sum(losses[:7]) / 7 > 2.0
    assert sum(losses[-7:]) / 7 < 0.6


def test_the_device_is_the_fastest_there_is_unless_one_is_given():
    assert Trainer(Transformer(TINY), reversal_examples(), RUN).device == pick_device()
    assert new_trainer(device="cpu").device == torch.device("cpu")


def test_a_trainer_draws_nothing_before_it_trains(tmp_path, device):
    new_trainer(tmp_path, device=device).train(max_steps=3, progress=False)
    for run_dir in (None, tmp_path):
        model = Transformer(TINY)
        before = torch.get_rng_state()
        Trainer(model, reversal_examples(), RUN, run_dir=run_dir, device=device)
        assert torch.equal(torch.get_rng_state(), before)


def test_what_is_drawn_elsewhere_makes_no_difference(tmp_path, device):
    expected = new_trainer(device=device).train(progress=False)
    trainer, other = new_trainer(tmp_path, device=device), new_trainer(device=device)
    torch.rand(3, device=device)
    for steps in (3, 7, 10, 28):
        trainer.train(max_steps=steps, on_epoch=lambda _: torch.rand(5), progress=False)
        torch.rand(steps, device=device)
        other.train(max_steps=min(28, steps + 1), progress=False)
    assert trainer.losses == other.losses == expected


class Small(nn.Module):
    """Adds the mean of the source to each token of the target; a step takes no time."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(13, 8)
        self.output_proj = nn.Linear(8, 13)

    def forward(self, src, tgt):
        memory = self.embedding(src).mean(1, keepdim=True)
        return self.output_proj(torch.tanh(self.embedding(tgt) + memory))


def small_trainer(config, run_dir=None, device="cpu", count=50):
    torch.manual_seed(0)
    examples, device = reversal_examples(count), torch.device(device)
    return Trainer(Small(), examples, config, run_dir=run_dir, device=device)


# --- Muon, the average of the weights, losses of one's own -------------------------------------


def test_muon_moves_the_hidden_matrices_and_adamw_the_rest(device, monkeypatch):
    # torch's Muon rounds to bfloat16, which alone moves these weights by hundredths.
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor)
    config = replace(FULL, optimizer="muon", muon_learning_rate=0.1, ema=0.5)
    trainer = new_trainer(config=config, device=device, **EXACT)
    network = copy.deepcopy(trainer.model)
    average = {name: weight.clone() for name, weight in network.state_dict().items()}
    names = dict(network.named_parameters())
    hidden = [name for name in names if re.search(r"layers.*(proj|linear\d)\.weight", name)]
    assert len(hidden) == 6 + 10  # projections and feed-forward of one layer on either side
    others = [names[name] for name in names if name not in hidden]
    adamw = torch.optim.AdamW(
        [
            {"params": [weight for weight in others if weight.ndim == 2]},
            {"params": [weight for weight in others if weight.ndim == 1], "weight_decay": 0.0},
        ],
        betas=config.betas,
        weight_decay=config.weight_decay,
    )
    muon = torch.optim.Muon([names[name] for name in hidden], weight_decay=config.weight_decay)
    sources, targets = zip(*reversal_examples(), strict=True)
    batches = [batch for epoch in (5, 6) for batch in bucketed_batches(trainer.examples, 8, epoch)]
    for step, batch in enumerate(batches, start=1):
        src, tgt = (
            nn.utils.rnn.pad_sequence([torch.tensor(rows[i]) for i in batch], True).to(device)
            for rows in (sources, targets)
        )
        network.zero_grad()
        logits = network(src, tgt[:, :-1]).flatten(0, 1)
        labels = tgt[:, 1:].flatten()
        F.cross_entropy(logits, labels, ignore_index=0, label_smoothing=0.1).backward()
        nn.utils.clip_grad_norm_(network.parameters(), config.clip_norm)
        for optimizer, peak in ((adamw, config.learning_rate), (muon, 0.1)):
            for group in optimizer.param_groups:
                group["lr"] = trapezoid_learning_rate(step, peak, config.warmup, 14, 0.5)
            optimizer.step()
        kept = min(0.5, step / (step + 9))
        for name, weight in network.state_dict().items():
            average[name] = kept * average[name] + (1 - kept) * weight
        if step == 1:
            average = {name: weight.clone() for name, weight in network.state_dict().items()}
    trainer.train(progress=False)
    assert_same_weights(trainer.model, network.state_dict(), rtol=1e-9, atol=1e-9)
    assert_same_weights(trainer.averaged_model, average, rtol=1e-9, atol=1e-9)


def test_muon_computes_the_loss_again_and_skips_what_has_no_gradient():
    weight, idle = (nn.Parameter(torch.eye(3)) for _ in range(2))
    optimizer = Muon([weight, idle], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure) == 3.0
    assert not weight.equal(torch.eye(3))
    assert idle.equal(torch.eye(3))


def test_a_matrix_that_embeds_too_is_no_hidden_one():
    model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 4), nn.Linear(4, 7, bias=False))
    model[2].weight = model[0].weight
    (hidden,) = hidden_matrices(model)
    assert hidden is model[1].weight


def test_without_an_average_the_model_itself_is_kept():
    trainer = small_trainer(RUN)
    assert trainer.averaged_model is trainer.model


def test_the_average_learns_nothing_by_itself_and_is_another_model(device):
    trainer = small_trainer(replace(RUN, ema=0.9), device=device)
    trainer.train(progress=False)
    assert type(trainer.averaged_model) is Small
    assert trainer.averaged_model.embedding.weight.device.type == device.type
    plain = small_trainer(RUN, device=device)
    assert plain.train(progress=False) == trainer.losses
    assert_same_weights(plain.model, trainer.model.state_dict())


@pytest.mark.weekly
def test_the_default_loss_may_be_written_out(device):
    def loss(model, batch):
        logits = model(batch.source, batch.inputs)
        assert logits.dtype == torch.float32
        return sequence_loss(logits, batch.labels, 0, label_smoothing=0.05)

    for changes in ({}, {"accumulate": 3}, {"precision": "bfloat16"}):
        config = replace(RUN, **changes)
        expected = new_trainer(config=config, device=device)
        torch.manual_seed(0)
        own = Trainer(Transformer(TINY), reversal_examples(), config, device=device, loss=loss)
        assert own.train(progress=False) == expected.train(progress=False)
        assert_same_weights(own.model, expected.model.state_dict())


def test_a_student_learns_from_the_answers_of_a_teacher(device):
    """Soft targets that are kept for each example; of a teacher who is sure they are labels."""
    examples = reversal_examples()

    def distil(answers):
        def loss(model, batch):
            logits = model(batch.source, batch.inputs)
            rows = [answers[place] for place in batch.places]
            soft = nn.utils.rnn.pad_sequence(rows, batch_first=True).to(logits)
            real = batch.labels != 0
            return -(soft * logits.log_softmax(-1)).sum(-1)[real].mean()

        return loss

    sure = [F.one_hot(torch.tensor(target[1:]), 13).float() for _, target in examples]
    config = replace(RUN, label_smoothing=0.0, accumulate=2)
    expected = small_trainer(config, device=device).train(progress=False)
    torch.manual_seed(0)
    student = Trainer(Small(), examples, config, device=device, loss=distil(sure))
    assert student.train(progress=False) == pytest.approx(expected, rel=1e-4)
    # A teacher who finds all tokens equally likely teaches just that.
    unsure = [torch.full((len(target) - 1, 13), 1 / 13) for _, target in examples]
    student = Trainer(Small(), examples, config, device=device, loss=distil(unsure))
    assert student.train(progress=False)[-1] == pytest.approx(math.log(13), abs=0.02)


def test_a_language_model_is_trained_without_sources(device):
    texts = [target for _, target in reversal_examples()]
    config = replace(RUN, label_smoothing=0.0, batch_tokens=60)

    def loss(model, batch):
        assert batch.source.shape == (len(batch.inputs), 0)
        return sequence_loss(model(batch.inputs), batch.labels, pad_id=0)

    def new_model():
        torch.manual_seed(0)
        return GPT(GPTConfig(13, 16, 2, 1, 32, max_len=8, dropout=0.0)).to(device)

    trainer = Trainer(new_model(), [([], text) for text in texts], config, device=device, loss=loss)
    trainer.train(progress=False)
    plain = new_model()
    first = [torch.tensor(texts[i], device=device) for i in trainer._deal(0)[0]]
    surprise = [F.cross_entropy(plain(t[None, :-1])[0], t[1:], reduction="sum") for t in first]
    labels = sum(len(text) - 1 for text in first)
    assert trainer.losses[0] == pytest.approx((sum(surprise) / labels).item(), rel=1e-5)
    assert trainer.losses[-1] < trainer.losses[0]


# --- micro-batches ------------------------------------------------------------------------------

UNEQUAL = [
    ([3] * n, [1, *range(3, 3 + n % 10), *[4] * (n - n % 10), 2]) for n in (1, 1, 2, 5, 9, 14)
]


def gradient_of_one_step(config, dtype, device):
    """The gradient with which the first step is made, and its record."""
    torch.manual_seed(0)
    model = Transformer(replace(TINY, dropout=0.0)).to(dtype)
    trainer = Trainer(model, UNEQUAL, config, device=device)
    gradients = {}

    def keep(optimizer, *_):
        for name, parameter in trainer.model.named_parameters():
            gradients[name] = parameter.grad.clone()

    trainer.optimizers[0].register_step_pre_hook(keep)
    trainer.train(max_steps=1, progress=False)
    return gradients, trainer.history[0], model


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-9), (torch.float32, 2e-4)])
@pytest.mark.parametrize("accumulate", [2, 3, 6, 9])
def test_micro_batches_sum_to_the_gradient_of_the_whole_batch(device, dtype, rtol, accumulate):
    config = replace(RUN, batch_size=6, clip_norm=math.inf)
    whole, record, _ = gradient_of_one_step(config, dtype, device)
    parts, record_of_parts, _ = gradient_of_one_step(
        replace(config, accumulate=accumulate), dtype, device
    )
    assert record.loss == pytest.approx(record_of_parts.loss, rel=rtol)
    assert record.gradient_norm == pytest.approx(record_of_parts.gradient_norm, rel=rtol)
    assert record.tokens == record_of_parts.tokens == sum(len(t) - 1 for _, t in UNEQUAL)
    for name, gradient in whole.items():
        scale = gradient.abs().max().item()
        torch.testing.assert_close(parts[name], gradient, rtol=rtol, atol=rtol * (scale + 1e-3))


def test_the_gradient_is_that_of_the_mean_over_all_labels_and_no_mean_of_means(device):
    config = replace(RUN, batch_size=6, accumulate=3, clip_norm=math.inf, label_smoothing=0.0)
    gradients, _, _ = gradient_of_one_step(config, torch.float64, device)
    torch.manual_seed(0)
    model = Transformer(replace(TINY, dropout=0.0)).double().to(device)
    losses = []
    for source, target in UNEQUAL:  # one by one: no padding at all
        src, tgt = torch.tensor([source], device=device), torch.tensor([target], device=device)
        logits = model(src, tgt[:, :-1])
        losses.append(F.cross_entropy(logits[0], tgt[0, 1:], reduction="none"))
    torch.cat(losses).mean().backward()
    mean_of_means = torch.stack([loss.mean() for loss in losses]).mean()
    assert abs(mean_of_means - torch.cat(losses).mean()) > 0.01  # the lengths do make a difference
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("accumulate", [2, 9])
def test_a_run_in_micro_batches_is_the_run_in_whole_batches(device, accumulate):
    config = replace(RUN, epochs=2)
    whole = new_trainer(config=config, device=device, **EXACT)
    expected = whole.train(progress=False)
    config = replace(config, accumulate=accumulate)
    parts = new_trainer(config=config, device=device, **EXACT)
    assert parts.train(progress=False) == pytest.approx(expected, rel=1e-8)
    assert_same_weights(parts.model, whole.model.state_dict(), rtol=1e-7, atol=1e-9)


def test_micro_batches_are_small(device):
    trainer = new_trainer(config=replace(RUN, accumulate=3), device=device)
    rows = []
    trainer.model.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    trainer.train(max_steps=1, progress=False)
    assert sorted(rows) in ([2, 3, 3], [1, 1, 1])  # of 8 rows, or of the last 2


# --- clipping, precision, trouble ---------------------------------------------------------------


def test_the_gradient_is_cut_and_its_norm_recorded(device):
    free, free_record, _ = gradient_of_one_step(
        replace(RUN, clip_norm=math.inf), torch.float64, device
    )
    cut, cut_record, _ = gradient_of_one_step(replace(RUN, clip_norm=0.01), torch.float64, device)
    norm = math.sqrt(sum(g.square().sum().item() for g in free.values()))
    assert free_record.gradient_norm == cut_record.gradient_norm == pytest.approx(norm)
    for name, gradient in free.items():
        torch.testing.assert_close(cut[name], gradient * (0.01 / norm), rtol=1e-3, atol=0)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_precision_is_that_of_the_layers_not_of_weights_and_loss(device, precision):
    trainer = new_trainer(config=replace(RUN, precision=precision), device=device)
    seen = []
    trainer.model.register_forward_hook(lambda _m, _i, out: seen.append(out.dtype))
    trainer.train(max_steps=2, progress=False)
    assert seen == [getattr(torch, precision)] * 2
    assert {weight.dtype for weight in trainer.model.parameters()} == {torch.float32}
    exact = new_trainer(device=device)
    exact.train(max_steps=1, progress=False)
    assert trainer.losses[0] == pytest.approx(exact.losses[0], rel=1e-2)
    assert (trainer.losses[0] == exact.losses[0]) == (precision == "float32")


def test_float16_makes_the_step_of_float32(device):
    # The scale must be gone from the gradient before it is cut.
    exact, record, _ = gradient_of_one_step(RUN, torch.float32, device)
    config = replace(RUN, precision="float16")
    scaled, scaled_record, _ = gradient_of_one_step(config, torch.float32, device)
    assert scaled_record.gradient_norm == pytest.approx(record.gradient_norm, rel=0.02)
    difference = torch.cat([(scaled[name] - exact[name]).flatten() for name in exact]).norm()
    assert difference < 0.05 * RUN.clip_norm


def overflowing_trainer(run_dir=None, device="cpu", scale=3 * 2.0**28):
    trainer = new_trainer(run_dir, replace(RUN, precision="float16"), device)
    trainer.scaler.load_state_dict({**trainer.scaler.state_dict(), "scale": scale})
    return trainer


def test_a_float16_step_that_overflows_is_left_out_and_counts(tmp_path, device):
    trainer = overflowing_trainer(tmp_path, device)
    before = {name: weight.clone() for name, weight in trainer.model.state_dict().items()}
    trainer.train(max_steps=1, progress=False)
    assert_same_weights(trainer.model, before)
    assert trainer.step == 1
    assert trainer.scaler.get_scale() == 3 * 2.0**27
    assert not math.isfinite(trainer.history[0].gradient_norm)
    assert math.isfinite(trainer.losses[0])
    trainer.train(progress=False)
    assert [record.step for record in trainer.history] == list(range(1, 29))
    rates = [record.learning_rate for record in trainer.history]
    assert rates == [RUN.learning_rate_at(step, 28) for step in range(1, 29)]
    assert math.isfinite(trainer.history[-1].gradient_norm)
    assert not all(torch.equal(w, before[name]) for name, w in trainer.model.state_dict().items())
    # The scale is part of the checkpoint.
    resumed = new_trainer(tmp_path, replace(RUN, precision="float16"), device)
    assert resumed.scaler.get_scale() == trainer.scaler.get_scale() < 3 * 2.0**27
    assert math.isnan(sum(resumed.losses)) == math.isnan(sum(trainer.losses))


def poison(trainer):
    with torch.no_grad():
        trainer.model.output_proj.weight[5, 0] = math.nan
    return {name: weight.clone() for name, weight in trainer.model.state_dict().items()}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_loss_that_is_not_finite_stops_the_run_before_the_step(tmp_path, device, precision):
    config = replace(RUN, precision=precision, save_every=1)
    trainer = new_trainer(tmp_path, config, device)
    trainer.train(max_steps=3, progress=False)
    good = (tmp_path / "last.pt").read_bytes()
    poisoned = poison(trainer)
    message = (
        r"step 4: the loss is nan and the gradient's norm nan, at learning rate 0\.008 "
        rf"and precision {precision}; the step was not made"
    )
    with raises(FloatingPointError, message):
        trainer.train(progress=False)
    assert trainer.step == 3
    assert (tmp_path / "last.pt").read_bytes() == good
    assert len((tmp_path / "metrics.csv").read_text().splitlines()) == 4
    for name, weight in trainer.model.state_dict().items():
        assert torch.equal(weight.nan_to_num(7), poisoned[name].nan_to_num(7)), name


class Steep(nn.Module):
    """A model with a finite loss and a gradient that is not: the root is steep at zero."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(13))

    def forward(self, src, tgt):
        return self.weight.sqrt().expand(*tgt.shape, 13)


class Shut(Steep):
    """A model with a finite gradient and a loss that is not: the end token is impossible."""

    def forward(self, src, tgt):
        logits = self.weight.expand(*tgt.shape, 13)
        return logits + torch.where(torch.arange(13, device=tgt.device) == 2, -math.inf, 0.0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Steep, r"step 1: the loss is 2\.5.* norm (nan|inf), .*"),
        (Shut, r"step 1: the loss is inf and the gradient's norm 0\..*"),
    ],
)
def test_loss_and_gradient_must_both_be_finite(device, model, message):
    config = replace(RUN, label_smoothing=0.0)
    trainer = Trainer(model(), reversal_examples(), config, device=device)
    with raises(FloatingPointError, message):
        trainer.train(progress=False)
    assert trainer.model.weight.tolist() == [0.0] * 13


@pytest.mark.parametrize("device", ["cpu"])
def test_float16_gives_up_when_the_scale_cannot_help(device):
    trainer = overflowing_trainer(device=device, scale=8.0)
    poison(trainer)
    # 8, 4 and 2 are lowered; at 1 there is no scaling left to blame.
    with pytest.raises(FloatingPointError, match="step 4: the loss is nan"):
        trainer.train(progress=False)
    assert trainer.step == 3


# --- epochs and batches by tokens ---------------------------------------------------------------


def test_epoch_callback_runs_once_an_epoch_and_training_mode_comes_back():
    seen = []
    trainer = small_trainer(RUN)
    assert (trainer.epoch, trainer.steps_per_epoch, trainer.total_steps) == (0, 7, 28)

    def after_epoch(trainer):
        assert trainer.model.training
        trainer.model.eval()
        seen.append((trainer.epoch, trainer.step))

    modes = []
    trainer.model.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    trainer.model.eval()
    trainer.train(on_epoch=after_epoch, progress=False)
    assert seen == [(1, 7), (2, 14), (3, 21), (4, 28)]
    assert modes == [True] * 28
    assert trainer.model.training


@pytest.mark.weekly
def test_epochs_of_batches_by_tokens_may_differ_and_add_up(device):
    config = replace(RUN, epochs=4, batch_tokens=14)
    trainer = small_trainer(config, device=device, count=200)
    counts = [len(token_batches(reversal_examples(200), 14, epoch)) for epoch in range(4)]
    assert len(set(counts)) > 1
    total = sum(counts)
    assert trainer.epoch_ends == list(itertools.accumulate(counts))
    assert trainer.total_steps == total
    finished, sizes = [], []
    trainer.model.register_forward_pre_hook(
        lambda _, ids: sizes.append((*ids[0].shape, *ids[1].shape))
    )
    trainer.train(
        on_epoch=lambda t: finished.append((t.step, t.epoch, t.steps_per_epoch)), progress=False
    )
    ends = itertools.accumulate(counts)
    assert finished == [(end, epoch + 1, counts[epoch]) for epoch, end in enumerate(ends)]
    # The decoder reads one token less than the target has.
    assert max(rows * (source + target + 1) for rows, source, _, target in sizes) <= 14
    assert [r.epoch for r in trainer.history] == [e + 1 for e in range(4) for _ in range(counts[e])]
    rates = [RUN.learning_rate_at(step, total) for step in range(1, total + 1)]
    assert [record.learning_rate for record in trainer.history] == rates


@pytest.mark.weekly
def test_a_run_by_tokens_goes_on_in_the_right_epoch(tmp_path, device):
    config = replace(RUN, epochs=2, batch_tokens=14)
    expected = small_trainer(config, device=device, count=200).train(progress=False)
    stopped = small_trainer(config, tmp_path, device, count=200)
    stopped.train(max_steps=stopped.epoch_ends[0] + 5, progress=False)
    resumed = small_trainer(config, tmp_path, device, count=200)
    assert resumed.epoch == 1
    assert resumed.train(progress=False) == expected


# --- stop and go on -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        *weekly(
            {"precision": "bfloat16"},
            {"precision": "float16"},
            {"accumulate": 3},
            {"batch_tokens": 40, "epochs": 2},
            {"schedule": "noam"},
            {"optimizer": "muon", "ema": 0.9},
        ),
        {"optimizer": "muon", "ema": 0.999, "precision": "float16", "schedule": "noam"},
    ],
    ids=str,
)
def test_a_stopped_run_goes_on_to_the_same_result(tmp_path, device, changes):
    config = replace(RUN, **changes)
    whole = new_trainer(config=config, device=device)
    expected = whole.train(progress=False)
    # 10 is in the middle of an epoch: of 7 steps, or of 13 by tokens.
    stopped = new_trainer(tmp_path, config, device)
    assert len(stopped.train(max_steps=10, progress=False)) == 10
    resumed = new_trainer(tmp_path, config, device)
    assert resumed.step == 10
    assert resumed.history == stopped.history
    types = [type(field) for field in astuple(resumed.history[0])]
    assert types == [int, int, float, float, float, int, float]
    assert resumed.train(progress=False) == expected
    assert_same_weights(resumed.model, whole.model.state_dict())
    assert_same_weights(resumed.averaged_model, whole.averaged_model.state_dict())
    for record, other in zip(resumed.history, whole.history, strict=True):
        assert replace(record, seconds=0.0) == replace(other, seconds=0.0)


@pytest.mark.weekly
def test_a_killed_run_goes_on_to_the_same_result(tmp_path):
    script = (
        "import sys; from tests.package import training_runs;"
        "trainer = training_runs.new_trainer(sys.argv[1]);"
        "trainer.train(progress=False, on_epoch=lambda _: print('epoch', flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()},
    ) as process:
        assert process.stdout.readline() == b"epoch\n"
        process.send_signal(signal.SIGKILL)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        resumed = new_trainer(tmp_path)
        assert 0 < resumed.step < resumed.total_steps
        assert resumed.train(progress=False) == new_trainer().train(progress=False)
    finally:
        torch.set_num_threads(threads)
    rows = (tmp_path / "metrics.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", *map(str, range(1, 29))]


def test_checkpoints_come_every_few_steps_and_at_the_end(tmp_path):
    steps = {}

    def interrupt(trainer):
        steps[trainer.step] = small_trainer(RUN, tmp_path).step
        if trainer.step == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_trainer(RUN, tmp_path).train(on_epoch=interrupt, progress=False)
    assert steps == {7: 6, 14: 12}
    small_trainer(RUN, tmp_path).train(max_steps=20, progress=False)
    assert small_trainer(RUN, tmp_path).step == 20
    small_trainer(RUN, tmp_path).train(progress=False)
    assert small_trainer(RUN, tmp_path).step == 28
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.pt", "metrics.csv"]


def test_a_finished_run_stays_as_it_is(tmp_path):
    losses = small_trainer(RUN, tmp_path).train(max_steps=1000, progress=False)
    assert len(losses) == 28
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert small_trainer(RUN, tmp_path).train(progress=False) == losses
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_without_a_run_dir_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new_trainer().train(max_steps=3, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    good = (tmp_path / "last.pt").read_bytes()

    def fail_half_way(state, file):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(torch, "save", fail_half_way)
    with pytest.raises(OSError, match="no space left"):
        new_trainer(tmp_path).train(max_steps=6, progress=False)
    assert (tmp_path / "last.pt").read_bytes() == good
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.pt", "metrics.csv"]
    assert new_trainer(tmp_path).step == 3


class Intruder:
    """Code that runs when it is read with pickle."""

    def __reduce__(self):
        return print, ("code of the file was run",)


@pytest.mark.parametrize(
    "content", [b"", b"hello", "half", "a list", "another dictionary", "code", "no history"]
)
def test_a_damaged_checkpoint_is_named(tmp_path, capsys, content):
    path = tmp_path / "last.pt"
    if content == "half":
        new_trainer(tmp_path).train(max_steps=3, progress=False)
        path.write_bytes(path.read_bytes()[:5000])
    elif content == "a list":
        torch.save([1, 2, 3], path)
    elif content == "another dictionary":
        torch.save({"model": {}}, path)
    elif content == "code":
        torch.save({"optimizer": Intruder()}, path)
    elif content == "no history":
        new_trainer(tmp_path).train(max_steps=3, progress=False)
        state = torch.load(path)
        del state["history"]
        torch.save(state, path)
    else:
        path.write_bytes(content)
    readable = content in ("a list", "another dictionary", "no history")
    why = "it is not a training checkpoint" if readable else ".*"
    with raises(OSError, rf".*last\.pt is damaged: {why}; delete it to start the run again"):
        new_trainer(tmp_path)
    assert capsys.readouterr().out == ""


def test_a_checkpoint_without_permission_is_not_called_damaged(tmp_path, monkeypatch):
    (tmp_path / "last.pt").write_bytes(b"")

    def refuse(*_, **__):
        raise PermissionError("permission denied")

    monkeypatch.setattr(torch, "load", refuse)
    with pytest.raises(PermissionError, match="permission denied"):
        new_trainer(tmp_path)


WAY_OUT = "use another folder, or delete that one to start again"


def test_a_run_with_another_config_is_refused(tmp_path):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    with raises(
        ValueError,
        r"run_dir holds another run: .*last\.pt was made with epochs=4, seed=0, "
        rf"got epochs=5, seed=1; {WAY_OUT}",
    ):
        new_trainer(tmp_path, config=replace(RUN, epochs=5, seed=1))


@pytest.mark.weekly
def test_how_often_a_run_is_saved_may_change(tmp_path):
    expected = new_trainer().train(progress=False)
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    resumed = new_trainer(tmp_path, config=replace(RUN, save_every=1))
    assert resumed.step == 3
    assert resumed.train(progress=False) == expected


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (lambda pairs: pairs[:40], 40),
        (lambda pairs: pairs + pairs[:1], 51),
        (lambda pairs: pairs[1:] + pairs[:1], 50),  # the order decides the batches
        (lambda pairs: [(pairs[0][0], [1, 4, 2]), *pairs[1:]], 50),
        (lambda pairs: [([*pairs[0][0], 3], pairs[0][1]), *pairs[1:]], 50),
    ],
    ids=["fewer", "more", "another order", "another target", "another source"],
)
def test_a_run_on_other_examples_is_refused(tmp_path, change, number):
    small_trainer(RUN, tmp_path).train(max_steps=3, progress=False)
    with raises(
        ValueError,
        r"run_dir holds another run: .*last\.pt was made with examples=50 \(sha256 \w{64}\), "
        rf"got examples={number} \(sha256 \w{{64}}\); {WAY_OUT}",
    ):
        Trainer(Small(), change(reversal_examples()), RUN, run_dir=tmp_path)
    # The same ids in other containers are the same examples.
    same = [(tuple(source), tuple(target)) for source, target in reversal_examples()]
    assert Trainer(Small(), same, RUN, run_dir=tmp_path).step == 3


def test_a_run_with_another_pad_id_is_refused(tmp_path):
    small_trainer(RUN, tmp_path).train(max_steps=3, progress=False)
    message = rf"run_dir holds .*last\.pt was made with pad_id=0, got pad_id=11; {WAY_OUT}"
    with raises(ValueError, message):
        Trainer(Small(), reversal_examples(), RUN, pad_id=11, run_dir=tmp_path)


@pytest.mark.parametrize("format_version", [None, 0, 2])
def test_a_run_in_another_format_is_refused(tmp_path, format_version):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    state = torch.load(tmp_path / "last.pt")
    state["format"] = format_version
    if format_version is None:  # as before there were formats
        del state["format"], state["run"]
    torch.save(state, tmp_path / "last.pt")
    message = (
        r"run_dir holds a run in another format: .*last\.pt was written by another version of "
        rf"this package, in format {format_version}, got 1; {WAY_OUT}"
    )
    with raises(ValueError, message):
        new_trainer(tmp_path)


def test_a_run_with_another_model_is_refused(tmp_path):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    with raises(ValueError, r"run_dir holds a run of another model: .*last\.pt: Error.*"):
        new_trainer(tmp_path, model=replace(TINY, d_model=32))


# --- the log ------------------------------------------------------------------------------------


def read_metrics(folder):
    with (folder / "metrics.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return header, [[float(value) for value in row] for row in rows]


def test_metrics_say_what_happened_at_every_step(tmp_path, device):
    trainer = new_trainer(tmp_path / "new" / "folder", device=device)
    seen = []

    def look(trainer):  # while it is training
        seen.append(len(read_metrics(trainer.run_dir)[1]))

    trainer.train(on_epoch=look, progress=False)
    assert seen == [7, 14, 21, 28]
    header, rows = read_metrics(trainer.run_dir)
    assert header == [
        *("step", "epoch", "loss", "learning_rate", "gradient_norm", "tokens", "seconds")
    ]
    assert rows == [list(astuple(record)) for record in trainer.history]
    assert [record.step for record in trainer.history] == list(range(1, 29))
    assert [record.epoch for record in trainer.history] == [1 + n // 7 for n in range(28)]
    assert [record.loss for record in trainer.history] == trainer.losses
    labels = sum(len(target) - 1 for _, target in reversal_examples())
    assert [trainer.history[end - 1].tokens for end in (7, 14, 21, 28)] == [
        labels * n for n in (1, 2, 3, 4)
    ]
    first = trainer._deal(0)[0]
    assert trainer.history[0].tokens == sum(len(trainer.examples[i][1]) - 1 for i in first)
    seconds = [record.seconds for record in trainer.history]
    assert seconds[0] > 0
    assert all(a < b for a, b in itertools.pairwise(seconds))


def test_metrics_have_each_step_once_after_a_kill(tmp_path):
    trainer = small_trainer(RUN, tmp_path)
    trainer.train(max_steps=4, progress=False)
    at_four = (tmp_path / "last.pt").read_bytes()
    trainer.train(max_steps=8, progress=False)
    seconds = trainer.history[3].seconds
    # As if killed in the middle of a line, with the last checkpoint at step 4.
    (tmp_path / "last.pt").write_bytes(at_four)
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("9,2,1.5")
    resumed = small_trainer(RUN, tmp_path)
    resumed.train(progress=False)
    _, rows = read_metrics(tmp_path)
    assert rows == [list(astuple(record)) for record in resumed.history]
    assert [row[0] for row in rows] == list(range(1, 29))
    assert resumed.history[3].seconds == seconds < resumed.history[4].seconds

    # A log that was thrown away comes back.
    (tmp_path / "metrics.csv").unlink()
    small_trainer(RUN, tmp_path).train(progress=False)
    assert read_metrics(tmp_path)[1] == rows


def test_the_time_between_two_calls_does_not_count(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(trainer_module.time, "perf_counter", lambda: now[0])
    trainer = small_trainer(RUN)
    trainer.model.register_forward_pre_hook(lambda *_: now.__setitem__(0, now[0] + 1.0))
    trainer.train(max_steps=2, progress=False)
    now[0] += 50.0
    trainer.train(max_steps=4, progress=False)
    assert [record.seconds for record in trainer.history] == [1.0, 2.0, 3.0, 4.0]


def test_progress_is_shown_unless_switched_off(capsys):
    trainer = small_trainer(RUN)
    trainer.train(max_steps=3, progress=False)
    assert capsys.readouterr().err == ""
    trainer.train(max_steps=5)
    shown = capsys.readouterr().err
    assert "3/5" in shown
    assert "5/5" in shown
    assert "step/s" in shown or "s/step" in shown
    assert f"loss={trainer.losses[-1]:.3f}" in shown


# --- compiling ----------------------------------------------------------------------------------


def test_compile_runs_the_model_through_torch_compile(tmp_path, monkeypatch):
    calls = []

    def fake_compile(module, **options):
        calls.append((module, options))
        return lambda *inputs: module(*inputs)

    monkeypatch.setattr(torch, "compile", fake_compile)
    expected = small_trainer(RUN).train(progress=False)
    assert calls == []
    config = replace(RUN, compile=True)
    trainer = small_trainer(config, tmp_path)
    assert trainer.train(progress=False) == expected
    # The lengths change from batch to batch: one program for all of them.
    assert calls == [(trainer.model, {"dynamic": True})]
    # Names in the checkpoint are those of the model itself.
    state = torch.load(tmp_path / "last.pt")
    assert list(state["model"]) == list(Small().state_dict())


@pytest.mark.weekly
def test_a_compiled_run_gives_the_same_losses_and_resumes(tmp_path, device):
    config = replace(RUN, compile=True)
    expected = small_trainer(RUN, device=device).train(progress=False)
    whole = small_trainer(config, device=device).train(progress=False)
    assert whole == pytest.approx(expected, rel=1e-5)
    small_trainer(config, tmp_path, device).train(max_steps=10, progress=False)
    resumed = small_trainer(config, tmp_path, device).train(progress=False)
    # Compiled anew from another batch: on a GPU its kernels may add up in another order.
    assert resumed == pytest.approx(whole, rel=1e-6)


# --- bad arguments: see bad_input.py for all the others ------------------------------------------


@pytest.mark.parametrize("target", [[1, 2, 13], [1, 2, -1]])
def test_a_target_outside_the_vocabulary_is_named_with_the_first_step(target):
    message = rf"examples must have targets in 0\.\.12 .*, got ids from {min(target[1:])} to"
    with pytest.raises(ValueError, match=message):
        Trainer(Transformer(TINY), [([3], target)], RUN).train()


def test_what_is_just_allowed():
    assert noam_learning_rate(1, 1, 1) == trapezoid_learning_rate(1, 1.0, 1, 1, 0.3) == 1.0
    TrainingConfig(clip_norm=math.inf, weight_decay=0, betas=(0, 0.5), decay_fraction=0.0)
    Trainer(Transformer(TINY), [([3], [1, 2])], RUN)
