"""Judges what an answer did, and says what is wrong with it; knows no task.

`verdict` asks the others in their order: `exam` holds what is right, `faults` finds what is wrong
with a case, `diagnosis` the misconception, `relations` what the wrong result has to do with the
right one, and `messages` writes it down.
"""
