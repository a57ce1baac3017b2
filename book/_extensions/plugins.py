"""Find plug-ins once per build: two libraries search all installed packages each time.

pybtex does so for each page, citation and entry, which takes seconds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jupyter_cache import entry_points
from pybtex import plugin
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Keep what they have found."""
    for module, name in ((entry_points, "eps"), (plugin, "entry_points")):
        library: Any = module
        setattr(library, name, cache(getattr(library, name)))
