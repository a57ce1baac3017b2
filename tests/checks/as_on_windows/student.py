"""What a student does, with answers of all kinds; prints each message as a line of JSON."""

import json
import os

import torch

import transformer_checks
from transformer_checks import check, grade
from transformer_checks.running import new_process

TASK = "attention.attention_scores"


def right(query, key):
    return query @ key.mT / query.shape[-1] ** 0.5


def wrong(query, key):
    return query @ key.mT


def loop(query, key):
    while True:
        pass


def crash(query, key):
    os._exit(3)


def changes_torch(query, key):
    torch.set_default_dtype(torch.float64)
    torch.Tensor.__matmul__ = None
    return right(query, key)


def pours(query, key):
    return torch.zeros(900_000)


def where(query, key):
    raise RuntimeError(f"fork: {hasattr(os, 'fork')}, checks: {transformer_checks.__file__}")


def say(name, text):
    print(json.dumps([name, text]), flush=True)


assert not hasattr(os, "fork")
say("points", check(TASK, right, 2))
for answer in (wrong, loop, crash, changes_torch, right, pours, where):
    say(answer.__name__, grade(TASK, answer, seconds=1.0).message)

spare = new_process._spare[0]
spare.end()
say("after the next process died", grade(TASK, right).message)
new_process._MAIN = "raise SystemExit"
new_process.stop()
say("no process starts", grade(TASK, right).message)
