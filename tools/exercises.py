"""Make exercises/ from solutions/ with nbgrader, or check that the two agree.

    python -m tools.exercises            writes what changed
    python -m tools.exercises --check    writes nothing; fails and names each file that differs

nbgrader works in a temporary folder and without its gradebook.
A file is replaced in one step and only where it differs, so a second run changes nothing.
"""

import argparse
import filecmp
import sys
import tempfile
from pathlib import Path

from nbgrader.converters import GenerateAssignment, NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import find_all_files
from traitlets.config.loader import Config, PyFileConfigLoader

from transformer_ref.files import whole_file

ROOT = Path(__file__).resolve().parent.parent


def load_config(root: Path, release: Path) -> Config:
    """The course's own nbgrader settings, with `release` as the place for what students get."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.CourseDirectory.release_directory = str(release)
    config.GenerateAssignment.no_database = True
    config.SaveCells.enabled = False
    return config


def generate(root: Path, slug: str, release: Path) -> None:
    """Make the released form of one assignment in `release`/`slug`.

    Args:
        root: the root of the repository.
        slug: the name of the assignment, a folder in solutions/.
        release: an absolute path; the folder is made if it is missing.

    Raises:
        ValueError: nbgrader refused the assignment; its reason is on stderr.
    """
    config = load_config(root, release)
    coursedir = CourseDirectory(config=config, assignment_id=slug)
    try:
        GenerateAssignment(coursedir=coursedir, config=config).start()
    except NbGraderException as error:
        raise ValueError(f"nbgrader cannot release solutions/{slug}: {error}") from error


def files_below(folder: Path) -> set[Path]:
    """The files of an assignment, relative to `folder`, without checkpoints and caches."""
    found = find_all_files(str(folder), CourseDirectory().ignore)
    return {Path(name).relative_to(folder) for name in found}


def differences(made: Path, kept: Path) -> list[Path]:
    """The files, relative to either folder, that are missing, left over or not the same bytes."""
    new, old = files_below(made), files_below(kept)
    changed = {
        name for name in new & old if not filecmp.cmp(made / name, kept / name, shallow=False)
    }
    return sorted((new ^ old) | changed)


def put_in_place(source: Path, target: Path) -> None:
    """Make `target` what `source` is, in one step; remove it where there is no `source`."""
    if not source.exists():
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as file:
        file.write(source.read_bytes())


def assignments(folder: Path) -> set[str]:
    """The names of the assignments in solutions/ or exercises/."""
    return {path.name for path in folder.glob("[!._]*") if path.is_dir()}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.exercises", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a byte differs"
    )
    check = parser.parse_args(arguments).check

    exercises = root / "exercises"
    with tempfile.TemporaryDirectory() as temporary:
        release = Path(temporary).resolve()
        for slug in sorted(assignments(root / "solutions")):
            generate(root, slug, release)
        changed = [
            slug / name
            for slug in map(Path, sorted(assignments(release) | assignments(exercises)))
            for name in differences(release / slug, exercises / slug)
        ]
        for name in changed:
            if check:
                print(f"exercises/{name} is not what solutions/ makes", file=sys.stderr)
            else:
                put_in_place(release / name, exercises / name)
                print(f"exercises/{name}")
    if check and changed:
        print("Run `make exercises`, and commit what it changes.", file=sys.stderr)
    elif not changed:
        print("exercises/ is what solutions/ makes")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
