"""A part of the book's Sphinx extension: it executes chapters that changed on all cores.

Sphinx reads one page after the other, and myst-nb executes a chapter when it is read.
Here the chapters are executed before that, several at a time, into the cache where myst-nb looks.
One that fails is not kept: myst-nb executes it once more and tells what is wrong.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

# More kernels than this take more memory than they save time.
AT_ONCE = min(4, os.cpu_count() or 1)


def execute_ahead(app: Sphinx, env: BuildEnvironment, docnames: Sequence[str]) -> None:
    """Execute the chapters among the pages that Sphinx is about to read.

    Args:
        app: Sphinx, with the settings of the execution.
        env: knows the files of the pages.
        docnames: the pages.
    """
    cache = get_cache(app.config.nb_execution_cache_path)
    paths = [Path(env.doc2path(name)) for name in docnames if name.startswith("book/")]
    chapters = {
        path: nbformat.read(path, nbformat.NO_CONVERT) for path in paths if path.suffix == ".ipynb"
    }
    missing = {path: chapter for path, chapter in chapters.items() if not is_in(cache, chapter)}
    if not missing:
        return
    LOGGER.info("Executing %d chapters, %d at a time", len(missing), AT_ONCE)
    for path, seconds in asyncio.run(execute_all(missing, app.config.nb_execution_timeout)).items():
        LOGGER.info("%s took %.1f s", path.name, seconds)
        data = {"execution_seconds": seconds}
        bundle = CacheBundleIn(missing[path], str(path), data=data)
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


async def execute_all(notebooks: dict[Path, NotebookNode], timeout: int) -> dict[Path, float]:
    """Execute notebooks in place, each in its own folder.

    Args:
        notebooks: by the path of their file.
        timeout: the most seconds that a cell may take.

    Returns:
        The seconds that each took, of those without an error.
    """
    free = asyncio.Semaphore(AT_ONCE)
    seconds: dict[Path, float] = {}

    async def execute(path: Path, notebook: NotebookNode) -> None:
        where = {"metadata": {"path": str(path.parent)}}
        client: Any = NotebookClient(
            notebook, timeout=timeout, resources=where, record_timing=False
        )
        async with free:
            start = time.monotonic()
            with suppress(CellControlSignal, DeadKernelError):
                await client.async_execute()
                seconds[path] = time.monotonic() - start

    await asyncio.gather(*(execute(*each) for each in notebooks.items()))
    return seconds


def is_in(cache: Any, notebook: NotebookNode) -> bool:
    """Say whether the outputs of these very cells are in the cache."""
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        return False
    return True
