"""What the capstone compares: counting, LSTMs, the small Transformer without one idea or another.

:mod:`~transformer_ref.experiments.capstone.counting` reads by a table,
:mod:`~transformer_ref.experiments.capstone.systems` holds the models and their recipe,
:mod:`~transformer_ref.experiments.capstone.ablations` trains and scores all of them,
:mod:`~transformer_ref.experiments.capstone.comparison` reads what that has stored,
:mod:`~transformer_ref.experiments.capstone.errors` takes wrong answers apart, and
:mod:`~transformer_ref.experiments.capstone.multi30k` translates.
"""
