"""A pytest plug-in: what nbval has run stands in the book's cache, and is not run a second time.

    pytest --nbval -p tools.keep_executed --keep-executed=_build/workshop/_build book

A notebook is kept when all of its cells have passed.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbval.plugin import IPyNbCell

from tools.inputs import execution_cache

PASSED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the folder."""
    parser.addoption("--keep-executed", type=Path, help="the build folder with the book's cache")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Keep what a cell gave, if it has passed, and the notebook after its last one."""
    yield
    build = item.config.getoption("--keep-executed")
    if build is None or not isinstance(item, IPyNbCell):
        return
    chapter: Any = item.parent
    item.cell.outputs, item.cell.execution_count = item.test_outputs, item.cell_num + 1
    chapter.stash[PASSED] = chapter.stash.get(PASSED, 0) + 1
    if chapter.stash[PASSED] == sum(cell.cell_type == "code" for cell in chapter.nb.cells):
        keep(chapter, execution_cache(build))


def keep(chapter: Any, folder: Path) -> None:
    """Put an executed notebook into a cache, which other processes may be filling too."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "filling.lock"):
        bundle = CacheBundleIn(chapter.nb, str(chapter.path))
        get_cache(folder).cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
