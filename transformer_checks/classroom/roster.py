"""Read a roster as spreadsheets save it.

The settings of nbgrader use it too, so it must not load torch.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path


def read_roster(path: Path) -> list[dict[str, str]]:
    """Read a CSV file of students, with or without a byte order mark, by commas or semicolons.

    Args:
        path: the file, in UTF-8, with the column `id`.

    Returns:
        for each student what stands in its columns, by their names.

    Raises:
        ValueError: if it is not in UTF-8 or has no column `id`; the text says what to change.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name} is not in UTF-8. In Excel, save it as 'CSV UTF-8'."
        ) from error
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    try:
        names, *rows = list(csv.reader(io.StringIO(text), delimiter=delimiter)) or [[]]
    except csv.Error as error:
        raise ValueError(f"{path.name} is no CSV file: {error}.") from error
    columns = [name.strip() for name in names]
    if "id" not in columns:
        raise ValueError(
            f"{path.name} has no column id; its columns are: {', '.join(columns) or 'none'}. "
            "Expected a first line like id,first_name,last_name,email, with commas or semicolons."
        )
    empty = [""] * len(columns)  # where a row is short
    students = [dict(zip(columns, [*row, *empty], strict=False)) for row in rows]
    return [student for student in students if student.get("id")]
