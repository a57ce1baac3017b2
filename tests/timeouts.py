"""How long a test waits for something before it fails: generous, and all in one place.

A wait ends as soon as what it waits for is there, so a long limit costs a passing test nothing, and
a busy machine needs it.
"""

from __future__ import annotations

# One state of a page in the browser, or one page that loads.
BROWSER_MILLISECONDS = 60_000
# A command, a server or a notebook that a test starts.
COMMAND_SECONDS = 600
