"""A part of the book's Sphinx extension: it executes chapters that changed on all cores.

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

from jupyter_cache import get_cache
from jupyter_cache.executors.base import load_executor
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

# More kernels than this take more memory than they save time. The library's own parallel executor
# starts one for each core.
AT_ONCE = min(4, os.cpu_count() or 1)


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
