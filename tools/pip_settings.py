"""What a user has set for pip: what applies to the course, and how to tell uv, which reads none.

Uses the standard library only, because nothing else is installed yet.  Used by environment.py.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Later ones win, as in pip: its files for all commands, for `install`, then the variables PIP_*.
SECTIONS = ("global", "install", ":env:")

# They install somewhere else, something else or nothing.  People set them for other projects, so
# they do not apply to the environment of the course.
FOR_OTHER_PROJECTS = {
    "dry-run",
    "editable",
    "group",
    "prefix",
    "python",
    "require-virtualenv",
    "requirement",
    "root",
    "target",
    "user",
}
# They say how pip talks and where its files are, and nothing about what is installed.
WITHOUT_EFFECT = {
    "config-file",
    "disable-pip-version-check",
    "log",
    "no-color",
    "no-input",
    "no-python-version-warning",
    "no-warn-script-location",
    "prefer-binary",
    "progress-bar",
    "quiet",
    "root-user-action",
    "verbose",
}
# An option of uv for each word of the value.
OPTIONS = {
    "constraint": "--constraints",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
# Variables that uv reads.  An address may hold a password, which no command line should show.
VARIABLES = {
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "extra-index-url": ("UV_INDEX",),
    "index-url": ("UV_DEFAULT_INDEX",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "retries": ("UV_HTTP_RETRIES",),
    "timeout": ("UV_HTTP_TIMEOUT",),
}
# What pip takes for true.
TRUE = ("y", "yes", "t", "true", "on", "1")
# pip takes certificates from these too: the first one that is set.
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass
class UvSettings:
    """Settings of pip in the words of uv.

    Attributes:
        options: for the command line of `uv pip install`.
        variables: for its environment.
        unknown: the settings that cannot be said; where there are any, pip must do the work.
    """

    # Of several indexes, pip takes the best version in all of them, and uv otherwise the first.
    options: list[str] = field(default_factory=lambda: ["--index-strategy", "unsafe-best-match"])
    variables: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def parse(listing: str) -> dict[str, str]:
    """Read the output of `pip config list`; return what holds for `pip install`."""
    lines = re.findall(r"^(global|install|:env:)\.(\S+?)=(.*)$", listing, flags=re.MULTILINE)
    settings: dict[str, str] = {}
    for _, name, value in sorted(lines, key=lambda line: SECTIONS.index(line[0])):
        # pip passes over empty ones.
        if words := str(ast.literal_eval(value)).split():
            settings[name] = " ".join(words)
    return settings


def translate(settings: Mapping[str, str], environ: Mapping[str, str]) -> UvSettings:
    """Say settings of pip in the words of uv.

    Args:
        settings: names, such as "index-url", and values; words of a value are apart by a space.
        environ: the environment, where pip looks for certificates too.
    """
    result = UvSettings()
    if bundles := [environ[name] for name in CERTIFICATES if environ.get(name)]:
        result.variables["SSL_CERT_FILE"] = bundles[0]
    for name, value in settings.items():
        if name in OPTIONS:
            for word in value.split():
                result.options += [OPTIONS[name], word]
        elif name in VARIABLES:
            result.variables |= dict.fromkeys(VARIABLES[name], value)
        elif name == "no-index":
            result.options += ["--no-index"] if value.lower() in TRUE else []
        elif name == "cache-dir":
            result.variables["UV_CACHE_DIR"] = str(Path(value, "uv"))
        elif name == "no-cache-dir":
            result.variables["UV_NO_CACHE"] = "1"
        elif name not in WITHOUT_EFFECT:
            result.unknown.append(name)
    return result


def read(python: Path, environ: Mapping[str, str]) -> dict[str, str] | None:
    """Ask the pip of an environment what the user has set.

    Args:
        python: the Python of the environment.
        environ: the variables, where pip looks for settings besides its files.

    Returns:
        names and values, without those in FOR_OTHER_PROJECTS; None if pip cannot read its files.
    """
    command = [str(python), "-m", "pip", "config", "list"]
    # With PIP_PYTHON, another Python would answer; with `user`, pip would list that file alone.
    variables = {name: value for name, value in environ.items() if name != "PIP_PYTHON"}
    variables["PIP_USER"] = "0"
    listed = subprocess.run(command, capture_output=True, text=True, env=variables)
    if listed.returncode != 0:
        return None
    settings = parse(listed.stdout)
    return {name: value for name, value in settings.items() if name not in FOR_OTHER_PROJECTS}


def for_uv(python: Path, environ: Mapping[str, str]) -> UvSettings:
    """Return the settings that apply to an environment, in the words of uv."""
    settings = read(python, environ)
    if settings is None:
        return UvSettings(unknown=["something that pip cannot read"])
    return translate(settings, environ)


def for_pip(python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables that hand pip the settings that apply, and keep it from reading its files.

    No variable can empty a setting in a file, such as `target`, so pip must not read the files.
    """
    settings = read(python, environ)
    if settings is None:  # the run itself then fails with pip's own reason
        theirs = {f"PIP_{name.upper().replace('-', '_')}" for name in FOR_OTHER_PROJECTS}
        return {name: value for name, value in environ.items() if name not in theirs}
    variables = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    for name, value in settings.items():
        variables[f"PIP_{name.upper().replace('-', '_')}"] = value
    return variables | {"PIP_CONFIG_FILE": os.devnull}
