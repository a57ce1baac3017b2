"""The book's own Sphinx extension: each module here adds one thing that _config.yml cannot say."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from sphinx.application import Sphinx

from tools.inputs import EXTENSION_INPUTS, digest


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up every module, in alphabetical order."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name).setup(app)
    # With another number, Sphinx reads all pages again instead of using what it remembers of them.
    number = int(digest(EXTENSION_INPUTS)[:12], 16)
    return {"env_version": number, "parallel_read_safe": True, "parallel_write_safe": True}
