"""GPT: against GPT-2 of the transformers library, and generation against a loop by hand."""

import os
from dataclasses import replace

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from transformers import GPT2Config, GPT2LMHeadModel

from transformer_ref.cache import KVCache
from transformer_ref.gpt import GPT, GPTConfig, generate

CONFIG = GPTConfig(vocab_size=17, d_model=12, num_heads=3, num_layers=2, d_ff=20, max_len=24)


def random_gpt(seed, device="cpu", **changes):
    """An untrained model with large weights, so that its texts vary."""
    torch.manual_seed(seed)
    model = GPT(replace(CONFIG, **changes)).to(device).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def prompts(device="cpu"):
    return torch.tensor([[3, 4, 5], [9, 1, 16], [0, 0, 2], [7, 7, 8]], device=device)


def random_gpt2(**changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 31, "n_embd": 24, "n_head": 3, "n_layer": 3, "n_positions": 20}
    model = GPT2LMHeadModel(GPT2Config(**(sizes | changes))).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and norms too
            parameter.normal_(std=0.3)
    return model


RESIDUAL = ("out_proj.weight", "linear2.weight")  # what each sublayer adds ends in one of them


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_what_is_added_to_the_residual_stream_starts_smaller_the_deeper_the_model(norm):
    """GPT-2 divides it by the root of the number of sublayers; Xavier's bounds do for the rest."""
    model = GPT(replace(CONFIG, d_model=48, d_ff=96, num_layers=8, norm=norm))
    for name, weight in model.layers.named_parameters():
        if weight.ndim < 2:
            continue
        bound = (6 / sum(weight.shape)) ** 0.5
        if norm == "pre" and name.endswith(RESIDUAL):
            bound /= 16**0.5
        assert 0.98 * bound < weight.abs().max() <= bound, name


def test_the_residual_stream_is_as_wide_in_a_deep_model():
    ids = torch.randint(0, 17, (4, 24))
    sizes = {}
    for layers in (2, 32):
        model = GPT(replace(CONFIG, d_model=48, d_ff=96, num_layers=layers)).eval()
        begin = model.positions(model.embedding(ids))
        model.norm.register_forward_pre_hook(
            lambda _, x, layers=layers, begin=begin: sizes.update({layers: (x[0] - begin).std()})
        )
        model(ids)
    assert 0.7 < sizes[32] / sizes[2] < 1.4


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_inner": 40},
        {"activation_function": "relu"},
        {"activation_function": "gelu"},
        {"tie_word_embeddings": False},
    ],
    ids=["gpt2", "wide", "relu", "exact", "untied"],
)
def test_logits_and_gradients_of_a_gpt2(device, changes):
    theirs = random_gpt2(**changes).to(device)
    ours = GPT.from_gpt2(theirs)
    ids = torch.randint(0, 31, (4, 20), device=device)
    expected = theirs(ids).logits
    actual = ours(ids)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    actual.square().mean().backward()
    expected.square().mean().backward()
    torch.testing.assert_close(
        ours.embedding.weight.grad, theirs.transformer.wte.weight.grad, rtol=1e-4, atol=1e-5
    )
    twin = theirs.transformer.h[1].attn.c_attn.weight.grad.t().chunk(3)[2]
    mine = ours.layers[1].self_attention.v_proj.weight.grad
    torch.testing.assert_close(mine, twin, rtol=1e-4, atol=1e-5)


def test_a_gpt2_generates_the_same_text(device):
    theirs = random_gpt2().to(device)
    ids = torch.randint(0, 31, (3, 4), device=device)
    options = {"do_sample": False, "max_new_tokens": 12, "min_new_tokens": 12, "pad_token_id": 0}
    mask = torch.ones_like(ids)
    expected = theirs.generate(ids, attention_mask=mask, eos_token_id=None, **options)
    assert torch.equal(generate(GPT.from_gpt2(theirs), ids, 12), expected)


def test_the_dtype_and_the_device_of_a_gpt2_stay():
    assert GPT.from_gpt2(random_gpt2().double()).embedding.weight.dtype == torch.float64
    assert GPT.from_gpt2(random_gpt2().to("meta")).embedding.weight.device.type == "meta"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.nn.Linear(2, 2), "model must be a GPT2LMHeadModel, got Linear"),
        (lambda: random_gpt2().transformer, "model must be a GPT2LMHeadModel, got GPT2Model"),
        (lambda: random_gpt2(activation_function="silu"), "activation_function must be one of"),
        (lambda: random_gpt2(layer_norm_epsilon=1e-6), r"layer_norm_epsilon .*got 1e-06"),
        (lambda: random_gpt2(scale_attn_weights=False), "scale_attn_weights .*got False"),
        (lambda: random_gpt2(embd_pdrop=0.2), r"one rate .*embd_pdrop.*got \(0\.1, 0\.2, 0\.1\)"),
        (lambda: random_gpt2(attn_pdrop=0.0), r"one rate .*attn_pdrop.*got \(0\.1, 0\.1, 0\.0\)"),
    ],
    ids=["linear", "headless", "silu", "epsilon", "unscaled", "embedding-rate", "attention-rate"],
)
def test_other_models_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        GPT.from_gpt2(make())


def test_gpt2_small_has_its_published_number_of_parameters():
    with torch.device("meta"):
        model = GPT(GPTConfig(vocab_size=50257))
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


@pytest.mark.parametrize("tie_weights", [True, False])
def test_an_untrained_model_knows_nothing(tie_weights):
    model = GPT(replace(CONFIG, d_model=48, tie_weights=tie_weights)).eval()
    ids = torch.randint(0, 17, (8, 24))
    loss = torch.nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert loss.item() == pytest.approx(torch.tensor(17.0).log().item(), abs=0.1)


@torch.no_grad()
def one_by_one(model, prompt, count):
    """The definition: the whole text again for every token."""
    ids = prompt.tolist()
    for _ in range(count):
        ids.append(int(model(torch.tensor([ids], device=prompt.device))[0, -1].argmax()))
    return ids


@pytest.mark.parametrize("use_cache", [True, False])
def test_generation_is_the_loop_by_hand(device, use_cache):
    for seed in range(5):
        model = random_gpt(seed, device)
        texts = generate(model, prompts(device), 15, use_cache=use_cache)
        assert texts.tolist() == [one_by_one(model, prompt, 15) for prompt in prompts(device)]


@pytest.mark.parametrize("use_cache", [True, False])
def test_rows_that_have_ended_are_filled_up(device, use_cache):
    uneven = 0
    for seed in range(8):
        model = random_gpt(seed, device)
        endless = generate(model, prompts(device), 20).tolist()
        eos = endless[0][8]
        stops = [row.index(eos, 3) + 1 if eos in row[3:] else 23 for row in endless]
        ended = generate(model, prompts(device), 20, eos_id=eos, use_cache=use_cache).tolist()
        for row, text, stop in zip(ended, endless, stops, strict=True):
            assert row == text[:stop] + [eos] * (max(stops) - stop)
        uneven += len(set(stops)) > 1
    assert uneven > 3  # otherwise all rows always ended together


def test_samples_follow_the_seed_and_their_limit_is_greedy(device):
    model = random_gpt(0, device).double()
    first, again, other = (
        generate(
            model,
            prompts(device),
            15,
            temperature=2.0,
            top_k=9,
            top_p=0.9,
            generator=torch.Generator(device).manual_seed(seed),
            use_cache=use_cache,
        )
        for seed, use_cache in ((0, True), (0, False), (1, True))
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    greedy = generate(model, prompts(device), 15)
    assert torch.equal(generate(model, prompts(device), 15, temperature=1e-5), greedy)


def test_dropout_does_not_act_and_the_mode_stays(device):
    model = random_gpt(0, device, dropout=0.5).train()
    first = generate(model, prompts(device), 9)
    assert torch.equal(first, generate(model, prompts(device), 9))
    assert model.training


@pytest.mark.parametrize("tie_weights", [True, False])
def test_saved_and_loaded_it_is_the_same(tmp_path, tie_weights):
    model = random_gpt(0, tie_weights=tie_weights)
    model.save_pretrained(tmp_path)
    loaded = GPT.from_pretrained(tmp_path)
    assert loaded.config == model.config
    assert torch.equal(loaded(prompts()), model(prompts()))
    assert (loaded.output_proj.weight is loaded.embedding.weight) == tie_weights


def test_it_compiles_in_one_graph():
    model = random_gpt(0)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(prompts()), model(prompts()))


def test_ids_that_are_not_checked_are_looked_up_as_they_are():
    with pytest.raises(IndexError):
        random_gpt(0)(torch.tensor([[17]]), check_ids=False)


def test_the_first_weights_and_the_dropout_are_those_of_gpt2():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=500, d_model=120, dropout=0.3, tie_weights=False))
    for table in (model.embedding.weight, model.output_proj.weight):
        assert table.std().item() == pytest.approx(0.02, rel=0.05)
    rates = {layer.p for layer in model.modules() if isinstance(layer, torch.nn.Dropout)}
    assert rates == {0.3}


@pytest.mark.parametrize(
    ("choice", "read"),
    [({}, [3, 1, 1, 1]), ({"use_cache": False}, [3, 4, 5, 6])],
)
def test_a_cache_spares_the_tokens_that_were_read(choice, read, monkeypatch):
    model, seen = random_gpt(0), []
    forward = GPT.forward

    def watched(self, ids, cache=None, *, check_ids=True):
        seen.append((ids.shape[1], check_ids))
        return forward(self, ids, cache, check_ids=check_ids)

    monkeypatch.setattr(GPT, "forward", watched)
    generate(model, prompts(), 4, **choice)
    # What a model has said itself is in its vocabulary: nothing waits to see that.
    assert seen == [(length, False) for length in read]


def test_a_text_may_fill_all_the_room():
    assert generate(random_gpt(0), prompts(), 21).shape == (4, 24)


def test_the_likeliest_token_alone_needs_no_choice():
    with pytest.raises(ValueError, match=r"temperature must be above 0 .*, got 0\.0"):
        generate(random_gpt(0), prompts(), 4, top_k=2)


def test_a_cache_of_another_batch_is_refused():
    model, cache = random_gpt(0), KVCache(CONFIG.num_layers)
    model(prompts(), cache)
    with pytest.raises(ValueError, match=r"filled with a batch of 4, got ids of shape \(2, 3\)"):
        model(prompts()[:2], cache)
