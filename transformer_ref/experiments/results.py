"""The results of experiments: where they are stored, and how they were made."""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from transformer_ref.files import write_json

ASSETS = Path(__file__).resolve().parent.parent / "assets"
RUNS = Path("runs") / "experiments"


def load_results(name: str) -> dict[str, Any]:
    """Read the stored results of an experiment.

    Args:
        name: of its folder in ``transformer_ref/assets``, such as "depth".

    Raises:
        OSError: if there are none of this name.
    """
    path = ASSETS / name / "results.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def write_results(name: str, results: dict[str, Any]) -> None:
    """Store the results of an experiment with the conditions of this run, and say where.

    Args:
        name: of the folder in ``transformer_ref/assets``.
        results: what JSON can hold.
    """
    path = ASSETS / name / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**results, "conditions": conditions()})
    print(f"written: {path}")


def conditions(packages: Iterable[str] = ()) -> dict[str, str | int]:
    """Say when, on what machine and with what versions something was measured.

    Args:
        packages: whose versions are named too, where they are installed.
    """
    gpu = {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    versions = {}
    for name in packages:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        **gpu,
        "python": platform.python_version(),
        "torch": torch.__version__,
        **versions,
    }


def processor_name() -> str:
    """The name of the processor, as Linux has it, else as Python has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def kept(name: str, code: Iterable[str | Path], make: Callable[[], Any]) -> Any:
    """Read what an earlier run has computed, or compute it and keep it in runs/experiments.

    Args:
        name: of the file, before a hash of the code.
        code: the modules, by their files; where one of them has changed, all is computed anew.
        make: computes what JSON can hold.
    """
    digest = hashlib.sha256(b"\0".join(Path(file).read_bytes() for file in code)).hexdigest()[:8]
    path = RUNS / f"{name.replace(',', '').replace(' ', '-')}-{digest}.json"
    if not path.exists():
        RUNS.mkdir(parents=True, exist_ok=True)
        write_json(path, make())
    return json.loads(path.read_text(encoding="utf-8"))


def thinned(losses: Sequence[float], every: int) -> list[float]:
    """Means over `every` steps."""
    groups = (losses[start : start + every] for start in range(0, len(losses), every))
    return [round(sum(group) / len(group), 4) for group in groups]
