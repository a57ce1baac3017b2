"""Answers run in forked children, which the judge kills: what they execute is not measured."""

from __future__ import annotations

import os
import sys

# Traced, a child takes a tenth longer, and its lines count as missed all the same.
os.register_at_fork(after_in_child=lambda: sys.settrace(None))
