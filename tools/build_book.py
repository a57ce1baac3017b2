"""Build the book, or check its links: `python -m tools.build_book [--linkcheck | --force]`.

The English site comes first. Other languages are made from what it has read and executed, so each
takes only the time to write its pages; `--language en` leaves them out.

The site is built beside the one that is served and takes its place only when the build has passed,
so a failed build never looks like a good one. Nothing is done when nothing has changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from tools import course_zip
from tools.inputs import ENGLISH, LOCALE, ROOT, SITE_INPUTS, digest, execution_cache
from tools.notebooks import EXECUTION_ENVIRONMENT

SITE = ROOT / "_build" / "html"
# jupyter-book adds `_build/html` to its output path by itself. The folder stays between builds,
# so that Sphinx reads and executes only what changed.
WORKSHOP = ROOT / "_build" / "workshop"
STAGED = WORKSHOP / "_build" / "html"
STAMP = "inputs.sha256"
# Each kernel says so of the sockets between it and the build, on this machine.
NO_NEWS = "Kernel is running over TCP without encryption"


def is_current() -> bool:
    """Say whether the served site was made from the files as they are now."""
    stamp = SITE / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == digest(SITE_INPUTS)


def jupyter_book(*options: str) -> int:
    """Run `jupyter-book build` with warnings as errors and every cross-reference checked.

    Args:
        *options: more options of `jupyter-book build`.

    Returns:
        The exit status.
    """
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
    command += [str(ROOT), "--path-output", str(WORKSHOP), "-W", "-n", "--keep-going", *options]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **EXECUTION_ENVIRONMENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    report = iter(process.stdout)
    for line in report:
        # From here on jupyter-book would tell the reader to open the workshop.
        if set(line.strip()) == {"="} or line.startswith("Finished generating"):
            break
        if NO_NEWS not in line:
            print(line, end="", flush=True)
    rest = "".join(report)
    status = process.wait()
    if status:
        print(rest)
    return status


def languages() -> list[str]:
    """List the languages that the book has catalogs for."""
    return sorted(path.parent.name for path in (ROOT / LOCALE).glob("*/LC_MESSAGES"))


def staged(language: str) -> Path:
    """Return where the pages of a language are made."""
    return STAGED if language == ENGLISH else STAGED.parent / language / "_build" / "html"


def translate(language: str) -> int:
    """Write the pages of another language, from what the English build has read.

    Returns:
        The exit status.
    """
    pages = staged(language)
    workshop = pages.parent.parent
    shutil.rmtree(workshop, ignore_errors=True)
    shutil.copytree(STAGED.parent / ".doctrees", pages.parent / ".doctrees")
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings["sphinx"]["config"]["language"] = language
    (workshop / "_config.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return jupyter_book("--config", f"{workshop}/_config.yml", "--path-output", str(workshop))


def publish(inputs: str, translations: Sequence[str]) -> None:
    """Put the staged site in the place of the served one.

    Args:
        inputs: the digest of what the site was made from, kept in the site.
        translations: languages, each of which has a folder in the site.

    Raises:
        FileNotFoundError: if the build passed but left no start page.
    """
    if not (STAGED / "index.html").is_file():
        raise FileNotFoundError(f"the build passed but there is no {STAGED / 'index.html'}")
    fresh, old = SITE.with_name("html.new"), SITE.with_name("html.old")
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    for language in (ENGLISH, *translations):
        target = fresh if language == ENGLISH else fresh / language
        ignored = shutil.ignore_patterns(".buildinfo*", "reports")
        shutil.copytree(staged(language), target, ignore=ignored)
    (fresh / STAMP).write_text(inputs, encoding="utf-8")
    if SITE.exists():
        SITE.rename(old)
    fresh.rename(SITE)
    shutil.rmtree(old, ignore_errors=True)


def drop_old_caches() -> None:
    """Remove the outputs of chapters that were executed with an earlier package or lock."""
    current = execution_cache(STAGED.parent)
    for cache in current.parent.glob("*"):
        if cache != current:
            shutil.rmtree(cache)


def build(force: bool = False, language: str | None = None) -> int:
    """Build the site if something changed.

    Args:
        force: start from nothing, without the cache of executed chapters.
        language: the only one beside English, or English; by default all are built.

    Returns:
        The exit status: 0 if the served site is now made from the files as they are.
    """
    start = time.monotonic()
    if force:
        shutil.rmtree(WORKSHOP, ignore_errors=True)
    elif is_current():
        print("Nothing has changed since the book was built.")
        return announce(start)
    # Taken before the build: a file that changes meanwhile makes the next build run again.
    inputs = digest(SITE_INPUTS)
    # Sphinx never removes a page that is no longer in _toc.yml, such as a solution left out.
    # What it has read and executed lies elsewhere and is used again.
    shutil.rmtree(STAGED, ignore_errors=True)
    read_before = (STAGED.parent / ".doctrees").exists()
    status = jupyter_book()
    if status and read_before:
        # A label that has moved to another page stands twice while the old page is remembered.
        print("\nThe build is tried once more, without what an earlier one has read.")
        for remembered in (STAGED.parent / ".doctrees", STAGED):
            shutil.rmtree(remembered, ignore_errors=True)
        status = jupyter_book()
    wanted = [each for each in languages() if language in (None, each)]
    for each in wanted:
        status = status or translate(each)
    if status:
        print("\nThe book was NOT built: the warnings and errors above are the reasons.")
        if SITE.exists():
            print(f"{SITE} still holds an earlier site, without your last changes.")
        return status
    publish(inputs if wanted == languages() else "", wanted)
    drop_old_caches()
    return announce(start)


def announce(start: float) -> int:
    """Pack the course for the site, and print where the site is and how to look at it."""
    course_zip.write(ROOT, SITE)
    site = SITE.relative_to(ROOT)
    print(f"The book is in {site}/ ({time.monotonic() - start:.1f} s). To read it:")
    print("    make serve")
    print(f"    or: {Path(sys.executable).name} -m http.server --directory {site} 8000")
    print("and open http://localhost:8000/ in a browser.")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and build or check."""
    parser = argparse.ArgumentParser(description="Build the book into _build/html.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--force", action="store_true", help="build everything from nothing")
    choice.add_argument(
        "--linkcheck", action="store_true", help="ask every external address whether it is there"
    )
    parser.add_argument(
        "--language", help="build this language only, and the English it is made from"
    )
    options = parser.parse_args(arguments)
    if options.linkcheck:
        return jupyter_book("--builder", "linkcheck")
    return build(options.force, options.language or None)


if __name__ == "__main__":
    sys.exit(main())
