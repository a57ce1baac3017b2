"""The trained speller, by the name under which chapters import it."""

from transformer_ref.applications.g2p import MAX_LEN, MODEL_CONFIG, Speller, load_g2p, make_examples

__all__ = ["MAX_LEN", "MODEL_CONFIG", "Speller", "load_g2p", "make_examples"]
