"""Training: the loss against its definition, the schedules, a run that survives a kill."""

import itertools
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from transformer_ref import Transformer, TransformerConfig
from transformer_ref.training import (
    Trainer,
    TrainingConfig,
    bucketed_batches,
    noam_learning_rate,
    pad_batch,
    sequence_loss,
    split_target,
    trapezoid_learning_rate,
)

TINY = TransformerConfig(
    src_vocab_size=12,
    tgt_vocab_size=13,
    d_model=16,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_ff=32,
    dropout=0.1,
    max_len=16,
    norm="pre",
)
RUN = TrainingConfig(epochs=4, batch_size=8, learning_rate=1e-2, warmup=5, save_every=3)


def reversal_examples(count=50, seed=0):
    """Source ids and the same reversed, with begin token 1 and end token 2."""
    generator = torch.Generator().manual_seed(seed)
    examples = []
    for _ in range(count):
        length = int(torch.randint(1, 7, (), generator=generator))
        ids = torch.randint(3, 12, (length,), generator=generator).tolist()
        examples.append((ids, [1, *reversed(ids), 2]))
    return examples


def new_trainer(run_dir=None, config=RUN, device="cpu", examples=None):
    torch.manual_seed(0)
    return Trainer(
        Transformer(TINY),
        examples or reversal_examples(),
        config,
        run_dir=run_dir,
        device=torch.device(device),
    )


def test_split_target_shifts_by_one(device):
    ids = torch.tensor([[1, 5, 6, 2, 0]], device=device)
    inputs, labels = split_target(ids)
    assert inputs.tolist() == [[1, 5, 6, 2]]
    assert labels.tolist() == [[5, 6, 2, 0]]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_is_the_mean_over_real_labels(device, smoothing):
    torch.manual_seed(0)
    logits = torch.randn(2, 4, 7, dtype=torch.float64, device=device)
    labels = torch.tensor([[3, 1, 2, 0], [5, 0, 0, 0]], device=device)
    log_probabilities = logits.log_softmax(-1)
    total, count = 0.0, 0
    for b, t in [(0, 0), (0, 1), (0, 2), (1, 0)]:
        row = log_probabilities[b, t]
        total -= (1 - smoothing) * row[labels[b, t]] + smoothing * row.mean()
        count += 1
    loss = sequence_loss(logits, labels, pad_id=0, label_smoothing=smoothing)
    torch.testing.assert_close(loss, total / count, rtol=1e-12, atol=0)


def test_loss_gives_padding_no_gradient(device):
    logits = torch.randn(1, 3, 7, device=device, requires_grad=True)
    sequence_loss(logits, torch.tensor([[4, 0, 0]], device=device), pad_id=0).backward()
    assert logits.grad[0, 0].abs().sum() > 0
    assert logits.grad[0, 1:].abs().sum() == 0


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
    assert rates[-1] == pytest.approx(2.0 / 30)
    assert all(a > b for a, b in itertools.pairwise(rates[70:]))
    assert trapezoid_learning_rate(100, 2.0, 10, 100, 0.0) == 2.0


def test_batches_hold_every_example_once_and_similar_lengths():
    examples = reversal_examples(1000)
    batches = bucketed_batches(examples, 16, seed=3)
    assert sorted(index for batch in batches for index in batch) == list(range(1000))
    assert batches == bucketed_batches(examples, 16, seed=3)
    assert batches != bucketed_batches(examples, 16, seed=4)
    spreads = [
        max(len(examples[i][0]) for i in batch) - min(len(examples[i][0]) for i in batch)
        for batch in batches
    ]
    assert sum(spreads) / len(spreads) < 0.5  # without buckets about 5


def test_pad_batch_fills_at_the_end():
    assert pad_batch([[1, 2, 3], [4]], pad_id=9).tolist() == [[1, 2, 3], [4, 9, 9]]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_small_model_learns_to_reverse(device, precision):
    config = replace(RUN, epochs=40, precision=precision)
    losses = new_trainer(config=config, device=device).train(progress=False)
    assert sum(losses[:7]) / 7 > 2.0
    assert sum(losses[-7:]) / 7 < 1.0


def test_the_same_seed_gives_the_same_losses(device):
    first = new_trainer(device=device).train(progress=False)
    second = new_trainer(device=device).train(progress=False)
    other = new_trainer(config=replace(RUN, seed=1), device=device).train(progress=False)
    assert first == second
    assert first != other


def test_a_stopped_run_goes_on_to_the_same_result(tmp_path, device):
    whole = new_trainer(device=device)
    expected = whole.train(progress=False)
    # 10 is in the middle of an epoch of 7 steps.
    assert len(new_trainer(tmp_path, device=device).train(max_steps=10, progress=False)) == 10
    resumed = new_trainer(tmp_path, device=device)
    assert resumed.step == 10
    assert resumed.train(progress=False) == expected
    for name, parameter in whole.model.state_dict().items():
        assert torch.equal(parameter, resumed.model.state_dict()[name]), name


def test_a_killed_run_goes_on_to_the_same_result(tmp_path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_training as t;"
        "trainer = t.new_trainer(sys.argv[2]);"
        "trainer.train(progress=False, on_epoch=lambda _: print('epoch', flush=True))"
    )
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", script, folder, str(tmp_path)],
        stdout=subprocess.PIPE,
        env=environment,
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


def test_a_failed_save_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    good = (tmp_path / "last.pt").read_bytes()

    def fail_half_way(state, path):
        with open(path, "wb") as file:
            file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(torch, "save", fail_half_way)
    with pytest.raises(OSError, match="no space left"):
        new_trainer(tmp_path).train(max_steps=6, progress=False)
    assert (tmp_path / "last.pt").read_bytes() == good
    assert new_trainer(tmp_path).step == 3


@pytest.mark.parametrize("content", [b"", b"hello", "half", "other"])
def test_a_damaged_checkpoint_is_named(tmp_path, content):
    path = tmp_path / "last.pt"
    if content == "half":
        new_trainer(tmp_path).train(max_steps=3, progress=False)
        content = path.read_bytes()[:5000]
    if content == "other":
        torch.save([1, 2, 3], path)
    else:
        path.write_bytes(content)
    with pytest.raises(OSError, match=r"last\.pt is damaged.*delete it to start the run again"):
        new_trainer(tmp_path)


def test_a_run_with_another_config_is_refused(tmp_path):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    with pytest.raises(ValueError, match="another config"):
        new_trainer(tmp_path, config=replace(RUN, epochs=5))


def test_a_run_with_another_model_is_refused(tmp_path):
    new_trainer(tmp_path).train(max_steps=3, progress=False)
    with pytest.raises(ValueError, match=r"run_dir holds a run of another model.*last\.pt"):
        Trainer(Transformer(replace(TINY, d_model=32)), reversal_examples(), RUN, run_dir=tmp_path)


def test_epoch_callback_runs_once_an_epoch_and_training_mode_comes_back():
    seen = []
    trainer = new_trainer()

    def after_epoch(trainer):
        trainer.model.eval()
        seen.append(trainer.epoch)

    trainer.train(on_epoch=after_epoch, progress=False)
    assert seen == [1, 2, 3, 4]
    assert trainer.model.training


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_target(torch.ones(2, 1, dtype=torch.int64)), "ids must have at least 2"),
        (lambda: split_target(torch.ones(2, 3)), "ids must hold ids as int64"),
        (
            lambda: sequence_loss(torch.zeros(2, 3, 4), torch.zeros(2, 4).long(), 0),
            r"logits must be \(B, T, V\) and labels \(B, T\), got \(2, 3, 4\) and \(2, 4\)",
        ),
        (
            lambda: sequence_loss(torch.zeros(1, 1, 4), torch.ones(1, 1).long(), 0, 1.0),
            r"label_smoothing must be a number in \[0, 1\), got 1.0",
        ),
        (lambda: noam_learning_rate(0, 512, 4000), "step must be an integer of at least 1, got 0"),
        (
            lambda: trapezoid_learning_rate(11, 1.0, 2, 10, 0.3),
            "step must be at most total, got step=11, total=10",
        ),
        (lambda: TrainingConfig(precision="float64"), "precision must be"),
        (lambda: TrainingConfig(epochs=0), "epochs must be an integer of at least 1, got 0"),
        (lambda: TrainingConfig(label_smoothing=-0.1), "label_smoothing must be a number in"),
        (lambda: pad_batch([], 0), "rows must hold at least one row, got none"),
        (lambda: bucketed_batches([], 4, 0), "examples must hold at least one example"),
        (lambda: Trainer(Transformer(TINY), [], RUN), "examples must hold at least one, got none"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
