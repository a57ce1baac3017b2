"""Execute the chapters that changed, on all cores, into a cache that belongs to the package.

Sphinx reads one page after the other, and myst-nb executes a chapter when it is read.
Here jupyter-cache executes the chapters before that, several at a time, into the cache where
myst-nb looks.
One that fails is not kept: myst-nb executes it once more and tells what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_cache import get_cache
from jupyter_cache.executors.base import load_executor
from myst_nb.core import render
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from tools.inputs import ENGLISH, execution_cache

# More kernels than this take more memory than they save time. The library's own parallel executor
# starts one for each core.
AT_ONCE = min(4, os.cpu_count() or 1)


def name_execution_cache(app: Sphinx, config: Config) -> None:
    """Say where the outputs of executed chapters are.

    Another package is another folder, which also makes Sphinx read all pages again, because it is
    part of the settings. Another language has its pages below the English build, and its outputs.
    """
    build = app.outdir.parent if config.language == ENGLISH else app.outdir.parents[2]
    config.nb_execution_cache_path = str(execution_cache(build))


def execute_ahead(app: Sphinx, env: BuildEnvironment, docnames: Sequence[str]) -> None:
    """Execute the chapters among the pages that Sphinx is about to read.

    Args:
        app: Sphinx, with the settings of the execution.
        env: knows the files of the pages.
        docnames: the pages.
    """
    folder = app.config.nb_execution_cache_path
    paths = [Path(env.doc2path(name)) for name in docnames if name.startswith("book/")]
    chapters = [str(path) for path in paths if path.suffix == ".ipynb"]
    for chapter in chapters:
        get_cache(folder).add_nb_to_project(chapter)
    with ProcessPoolExecutor(AT_ONCE) as pool:
        list(pool.map(partial(execute, folder, app.config.nb_execution_timeout), chapters))


def execute(folder: str, timeout: int, chapter: str) -> None:
    """Execute a chapter into the cache of a folder, if it is not there as it stands."""
    executor = load_executor("local-serial", get_cache(folder))
    run = partial(executor.run_and_cache, filter_uris=[chapter], timeout=timeout)
    if run().errored:  # not by the chapter: kernels that start at once may be given one port
        run()


def join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join what a cell printed, as it came; the pieces are those of the kernel's clock.

    myst-nb merges them too (nb_merge_streams), but ends each piece with a new line, so that the
    lines of a page would depend on when the kernel sent them.
    """
    joined: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}
    for output in outputs:
        name = output.get("name") if output["output_type"] == "stream" else None
        if name in streams:
            streams[name]["text"] += output["text"]
            continue
        if name is not None:
            streams[name] = output = NotebookNode(output)
        joined.append(output)
    return joined


def setup(app: Sphinx) -> None:
    """Connect to Sphinx, and join streams in myst-nb, which has no option for that."""
    myst_nb: Any = render
    merge = myst_nb.coalesce_streams
    myst_nb.coalesce_streams = lambda outputs: merge(join_streams(outputs))
    app.connect("config-inited", name_execution_cache)
    app.connect("env-before-read-docs", execute_ahead)
