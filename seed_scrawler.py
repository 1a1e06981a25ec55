"""The command `scrawler` of the distribution seed-scrawler; it looks, before the package is imported, whose that is.

The package index has another distribution, of another program, by the name `scrawler`. Where both are installed, that
one's files may stand in the place of ours, or be found before them.
"""

from __future__ import annotations

import os
import sys

_OTHER = "scrawler-"  # so begins the folder that tells of an installed distribution of that name and any version
_TELLING = (".dist-info", ".egg-info")
_INTERRUPTED = 130  # as the command line ends itself
_PIP = f"{sys.executable} -m pip"
_MEND = f"{_PIP} install --force-reinstall --no-deps seed-scrawler"


def program() -> int:
    """Run the command line, or say in one line why that cannot be."""
    folder = other_distribution()
    if folder:
        return _refuse(
            f"another distribution, by the name of `scrawler`, is installed in {folder}, and has its files where ours "
            f"should be: {_PIP} uninstall -y scrawler && {_MEND}"
        )
    try:
        from scrawler.cli import program as ours
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "scrawler":
            raise
        return _refuse(f"files of seed-scrawler are missing, or are those of another program ({error}): {_MEND}")
    except KeyboardInterrupt:  # while the package is loaded
        return _INTERRUPTED
    return ours()


def other_distribution() -> str:
    """Return the folder in which a distribution `scrawler` is installed beside ours, or nothing."""
    # All of it takes some 100 us; importlib.metadata alone, ten milliseconds.
    for folder in sys.path:
        if os.path.basename(folder) in ("site-packages", "dist-packages") and _has_other(folder):
            return folder
    return ""


def _has_other(folder: str) -> bool:
    try:
        return any(name.startswith(_OTHER) and name.endswith(_TELLING) for name in os.listdir(folder))
    except OSError:
        return False


def _refuse(why: str) -> int:
    print(f"scrawler: {why}", file=sys.stderr)
    return 2
