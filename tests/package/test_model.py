"""The whole model: its size, its first loss, its masks, precisions and torch.compile."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch.nn import functional as F

from tests.package.examples import (
    BATCH,
    D_MODEL,
    PAD,
    SOURCE,
    TARGET,
    small_batch,
    small_config,
    small_model,
)
from transformer_ref import (
    Transformer,
    TransformerConfig,
    padding_mask,
    sequence_loss,
    target_mask,
)

ONE_LAYER_EACH = {"num_encoder_layers": 1, "num_decoder_layers": 1}
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


class TestSize:
    """Numbers of parameters, counted without allocating them."""

    @staticmethod
    def count(config: TransformerConfig) -> int:
        with torch.device("meta"):
            return sum(parameter.numel() for parameter in Transformer(config).parameters())

    def test_base_model_of_the_paper(self) -> None:
        assert self.count(TransformerConfig(37_000, 37_000, tie_weights="all")) == 63_082_496

    def test_big_model_of_the_paper(self) -> None:
        config = TransformerConfig(
            37_000, 37_000, d_model=1024, num_heads=16, d_ff=4096, tie_weights="all"
        )
        assert self.count(config) == 214_245_376

    def test_pre_norm_adds_two_layer_norms(self) -> None:
        config = TransformerConfig(100, 100)
        pre = dataclasses.replace(config, norm="pre")
        assert self.count(pre) - self.count(config) == 2 * 2 * 512

    def test_tying_saves_whole_matrices(self) -> None:
        sizes = [self.count(small_config(tie_weights=tie)) for tie in ("none", "target")]
        assert sizes[0] - sizes[1] == 19 * 12
        sizes = [
            self.count(small_config(src_vocab_size=19, tie_weights=tie)) for tie in ("none", "all")
        ]
        assert sizes[0] - sizes[1] == 2 * 19 * 12

    def test_learned_positions_count_for_source_and_target(self) -> None:
        sizes = [self.count(small_config(positions=kind)) for kind in ("sinusoidal", "learned")]
        assert sizes[1] - sizes[0] == 2 * 16 * 12


def test_tied_matrices_are_one_object() -> None:
    target = small_model(tie_weights="target")
    assert target.output_proj.weight is target.tgt_embedding.weight
    assert target.src_embedding.weight is not target.tgt_embedding.weight
    everything = small_model(src_vocab_size=19, tie_weights="all")
    assert everything.output_proj.weight is everything.tgt_embedding.weight
    assert everything.src_embedding.weight is everything.tgt_embedding.weight
    untied = small_model()
    assert untied.output_proj.weight is not untied.tgt_embedding.weight
    assert untied.output_proj.bias is None


@pytest.mark.parametrize("vocab_size", [20, 40, 1000])
@pytest.mark.parametrize("d_model", [128, 256, 512])
@pytest.mark.parametrize("tie_weights", ["none", "target", "all"])
@NORMS
def test_first_loss_is_that_of_a_uniform_guess(
    device: torch.device, vocab_size: int, d_model: int, tie_weights: str, norm: str
) -> None:
    """Within 10% of ln V.

    Labels are random, the input itself and the source itself: a tied model whose embeddings are
    too large copies its input, which the last two would reward and the first punish.
    """
    config = TransformerConfig(
        vocab_size,
        vocab_size,
        d_model=d_model,
        num_encoder_layers=2,
        num_decoder_layers=2,
        d_ff=2 * d_model,
        norm=norm,
        tie_weights=tie_weights,
    )
    model = Transformer(config).to(device).eval()
    src, tgt, labels = torch.randint(1, vocab_size, (3, 8, 16), device=device)
    with torch.no_grad():
        logits = model(src, tgt)
    for wanted in (labels, tgt, src):
        loss = sequence_loss(logits, wanted, config.pad_id).item()
        assert loss == pytest.approx(math.log(vocab_size), rel=0.1)


@NORMS
def test_first_loss_of_the_full_depth(norm: str) -> None:
    """Six and six layers, as in the paper, with the smallest vocabulary."""
    config = TransformerConfig(20, 20, d_model=128, d_ff=256, norm=norm, tie_weights="all")
    src, tgt, labels = torch.randint(1, 20, (3, 8, 16))
    with torch.no_grad():
        loss = sequence_loss(Transformer(config).eval()(src, tgt), labels, config.pad_id)
    assert loss.item() == pytest.approx(math.log(20), rel=0.1)


class TestMasks:
    """Masks that the model makes and those that it is given."""

    def test_forward_makes_its_masks_from_pad_id(self, device: torch.device) -> None:
        model = small_model(device, pad_id=3).double()
        src, tgt = small_batch(device, model.config)
        src[:, -1] = tgt[:, -1] = 3
        src_mask = padding_mask(src, 3)
        memory = model.encode(src, src_mask)
        expected = model.decode(tgt, memory, target_mask(tgt, 3), src_mask)
        real = tgt != 3  # where padding is a query, there is no label
        torch.testing.assert_close(model(src, tgt)[real], expected[real])
        assert not torch.allclose(model.decode(tgt, memory)[real], expected[real])
        assert not torch.allclose(model.encode(src), memory)

    def test_decode_without_target_mask_is_causal_and_without_padding(
        self, device: torch.device
    ) -> None:
        model = small_model(device).double()
        src, tgt = small_batch(device, model.config)
        tgt[0, 1] = PAD
        memory = model.encode(src)
        expected = model.decode(tgt, memory, target_mask(tgt, PAD))
        torch.testing.assert_close(model.decode(tgt, memory), expected)
        everything = torch.ones(1, 1, TARGET, TARGET, dtype=torch.bool, device=device)
        assert not torch.allclose(model.decode(tgt, memory, everything), expected)

    @NORMS
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    def test_a_source_of_padding_only_gives_no_nan(
        self, device: torch.device, norm: str, dtype: torch.dtype
    ) -> None:
        model = small_model(device, norm=norm).to(dtype).train()
        src, tgt = small_batch(device, model.config)
        src[0], tgt[0, 1:] = PAD, PAD
        logits = model(src, tgt)
        logits.float().logsumexp(-1).mean().backward()
        assert torch.isfinite(logits).all()
        for name, parameter in model.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name


class TestWhatIsLookedAtOnce:
    """What `forward` reads off the ids, so that the cheapest kernel serves."""

    FULL, RIGHT, LEFT = [5, 6, 7], [5, 6, PAD], [PAD, 5, 6]

    @pytest.mark.parametrize("target", [FULL, RIGHT, LEFT, [5, PAD, 6]])
    def test_real_tokens_are_scored_as_with_the_masks_written_out(self, target: list[int]) -> None:
        model = small_model()
        src, tgt = torch.tensor([[5, 6, PAD]]), torch.tensor([target])
        memory_mask = padding_mask(src, PAD)
        memory = model.encode(src, memory_mask)
        expected = model.decode(tgt, memory, target_mask(tgt, PAD), memory_mask)
        real = tgt != PAD
        torch.testing.assert_close(model(src, tgt)[real], expected[real], rtol=0, atol=1e-6)

    def test_ids_that_are_not_checked_are_looked_up_as_they_are(self) -> None:
        model, bad = small_model(), torch.tensor([[40]])
        with pytest.raises(IndexError):
            model.encode(bad, check_ids=False)
        with pytest.raises(IndexError):
            model.decode(bad, torch.zeros(1, 2, D_MODEL), check_ids=False)

    def test_ids_out_of_the_vocabulary_are_named_as_the_arguments_are(self) -> None:
        model, good = small_model(), torch.tensor([[5, 6]])
        with pytest.raises(ValueError, match=r"^src must lie in 0\.\.22"):
            model(torch.tensor([[5, 23]]), good)
        with pytest.raises(ValueError, match=r"^tgt_in must lie in 0\.\.18"):
            model(good, torch.tensor([[5, 19]]))


def test_the_first_rows_are_as_wide_as_their_use_asks_for() -> None:
    """Times sqrt(D) an untied row has unit variance; what makes logits starts at 1/D."""
    sizes = {"src_vocab_size": 500, "tgt_vocab_size": 500, "d_model": 48, "num_heads": 3}
    for tie, source, target in (
        ("none", 48**-0.5, 48**-0.5),
        ("target", 48**-0.5, 1 / 48),
        ("all", 1 / 48, 1 / 48),
    ):
        model = small_model(tie_weights=tie, **sizes)
        for embedding, std in ((model.src_embedding, source), (model.tgt_embedding, target)):
            assert embedding.weight[1:].std().item() == pytest.approx(std, rel=0.05)
            assert not embedding.weight[PAD].any()
        assert model.output_proj.weight[1:].std().item() == pytest.approx(1 / 48, rel=0.05)
    other = small_model(pad_id=3)
    assert not other.src_embedding.weight[3].any()
    assert not other.tgt_embedding.weight[3].any()


def test_one_rate_is_that_of_all_dropouts() -> None:
    rates = {m.p for m in small_model(dropout=0.3).modules() if isinstance(m, torch.nn.Dropout)}
    assert rates == {0.3}


class TestPrecision:
    """Half precision, by autocast and by casting the whole model."""

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_cast_model(self, device: torch.device, dtype: torch.dtype) -> None:
        model = small_model(device)
        src, tgt = small_batch(device, model.config)
        expected = model(src, tgt)
        logits = model.to(dtype)(src, tgt)
        assert logits.dtype == dtype
        torch.testing.assert_close(logits.float(), expected, rtol=0.05, atol=0.05)

    def test_autocast(self, device: torch.device) -> None:
        model = small_model(device).train()
        src, tgt = small_batch(device, model.config)
        expected = model(src, tgt)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = model(src, tgt)
            loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        assert logits.dtype == torch.bfloat16
        torch.testing.assert_close(logits.float(), expected, rtol=0.05, atol=0.05)
        loss.backward()
        for parameter in model.parameters():
            assert parameter.grad.dtype == torch.float32
            assert torch.isfinite(parameter.grad).all()

    def test_autocast_with_weights_written_out(self, device: torch.device) -> None:
        attention = small_model(device).encoder.layers[0].self_attention
        x = torch.randn(BATCH, SOURCE, 12, device=device)
        mask = torch.zeros(BATCH, 1, 1, SOURCE, dtype=torch.bool, device=device)
        mask[1] = True
        expected, expected_weights = attention(x, x, x, mask, need_weights=True)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            output, weights = attention(x, x, x, mask, need_weights=True)
        torch.testing.assert_close(output.float(), expected, rtol=0.05, atol=0.05)
        torch.testing.assert_close(weights.float(), expected_weights, rtol=0.05, atol=0.05)


class TestCompile:
    """torch.compile traces everything into one graph and changes no result.

    At padded targets, which have no label, a compiled model gives another: see Transformer.forward.
    """

    @staticmethod
    def compiled(function: object, **options: object) -> object:
        torch.compiler.reset()
        options.setdefault("backend", "eager")  # graph breaks show in any backend
        return torch.compile(function, fullgraph=True, **options)

    @pytest.mark.parametrize(("norm", "positions"), [("post", "sinusoidal"), ("pre", "learned")])
    def test_whole_model(self, device: torch.device, norm: str, positions: str) -> None:
        model = small_model(device, norm=norm, positions=positions, **ONE_LAYER_EACH)
        batch = small_batch(device, model.config)
        compiled, real = self.compiled(model), batch[1] != PAD
        torch.testing.assert_close(compiled(*batch)[real], model(*batch)[real])

    @pytest.mark.weekly
    def test_gradients(self, device: torch.device) -> None:
        model = small_model(device, **ONE_LAYER_EACH).train()
        batch = small_batch(device, model.config)
        gradients = []
        for function in (model, self.compiled(model, backend="aot_eager")):
            model.zero_grad()
            function(*batch)[batch[1] != PAD].logsumexp(-1).sum().backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])
        for eager, compiled in zip(*gradients, strict=True):
            torch.testing.assert_close(compiled, eager)

    @pytest.mark.weekly
    def test_one_graph_for_all_lengths(self, device: torch.device) -> None:
        model = small_model(device, **ONE_LAYER_EACH)
        compiled = self.compiled(model, dynamic=True)
        src, tgt = small_batch(device, model.config)
        for length in (3, 4, 5):
            batch = src[:, : length + 2], tgt[:, :length]
            real = batch[1] != PAD
            torch.testing.assert_close(compiled(*batch)[real], model(*batch)[real])

    @pytest.mark.weekly
    def test_stacks(self, device: torch.device) -> None:
        model = small_model(device)
        src, tgt = small_batch(device, model.config)
        src_mask, tgt_mask = padding_mask(src, PAD), target_mask(tgt, PAD)
        x = torch.randn(*src.shape, 12, device=device)
        y = torch.randn(*tgt.shape, 12, device=device)
        memory = self.compiled(model.encoder)(x, src_mask).detach()
        torch.testing.assert_close(memory, model.encoder(x, src_mask))
        torch.testing.assert_close(
            self.compiled(model.decoder)(y, memory, tgt_mask, src_mask),
            model.decoder(y, memory, tgt_mask, src_mask),
        )

    def test_attention_with_weights(self, device: torch.device) -> None:
        attention = small_model(device).encoder.layers[0].self_attention
        x = torch.randn(BATCH, SOURCE, 12, device=device)
        compiled = self.compiled(attention)
        for options in ({"need_weights": True}, {"is_causal": True}):
            torch.testing.assert_close(compiled(x, x, x, **options), attention(x, x, x, **options))

    @pytest.mark.weekly
    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
    def test_generated_code(self, device: torch.device) -> None:
        model = small_model(device, **ONE_LAYER_EACH)
        batch = small_batch(device, model.config)
        compiled, real = self.compiled(model, backend="inductor"), batch[1] != PAD
        torch.testing.assert_close(
            compiled(*batch)[real], model(*batch)[real], rtol=1e-4, atol=1e-5
        )
