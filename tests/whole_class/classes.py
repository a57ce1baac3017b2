"""What the tests of a whole class share: a small one, and how results are compared."""

from __future__ import annotations

import json
from typing import Any

from tests.notebooks import test_class, test_class_of_eight
from tests.notebooks.courses import Course

CLASS = {**test_class.CLASS, **test_class_of_eight.CLASS}
# Few who differ much, for what is tried in more than one way.
SMALL_CLASS = {name: CLASS[name] for name in ("right", "wrong", "half", "split", "ends")}


def judged(course: Course) -> dict[str, Any]:
    """What every result says, apart from how long it took."""
    found = {}
    for path in course.root.glob("course/results/*.json"):
        said = json.loads(path.read_text("utf-8"))
        found[path.name] = {name: said[name] for name in ("cells", "sandbox", "ended")}
    return found
