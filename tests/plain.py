"""The compiled parts left out, as on a machine without a compiler."""

from __future__ import annotations

import sys

from scrawler.compiled import INTERFACES


def leave_out_compiled_parts() -> None:
    """Let the import of each fail from now on (Python's import system, 5.3.1); none may have been imported yet."""
    for part in INTERFACES:
        assert part not in sys.modules, "it is imported already"
        sys.modules[part] = None  # type: ignore[assignment]
