"""The pages of the package: one for each public module, with signatures that are Python."""

from __future__ import annotations

import pkgutil
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import transformer_ref

LOGGER = logging.getLogger(__name__)


def require_api_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, which fails the build, where a public module of transformer_ref has no API page."""
    documented = {
        name for name, entry in env.domaindata["py"]["objects"].items() if entry.objtype == "module"
    }
    for module in pkgutil.iter_modules(transformer_ref.__path__, "transformer_ref."):
        is_public = not module.name.rpartition(".")[2].startswith("_")
        if is_public and module.name not in documented:
            LOGGER.warning(
                "%s has no API page: add book/api/%s.md and name it in _toc.yml",
                module.name,
                module.name.rpartition(".")[2],
            )


def readable_defaults(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write a default that a dataclass makes as "...": "<factory>" is no Python.

    Sphinx leaves a signature that it cannot parse without links and with raw names of types.
    """
    return signature and signature.replace("<factory>", "..."), returns


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("autodoc-process-signature", readable_defaults)
    app.connect("env-check-consistency", require_api_pages)
