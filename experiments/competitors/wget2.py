"""wget2, the downloader in C, in recursive mode."""

from __future__ import annotations

import shutil

from experiments.competitors.peer import Habits, Peer, Task
from scrawler.urls.filetype import NOT_DOCUMENTS

_THREADS = 16
_RECURSIVE = ("--quiet", "--recursive", "--level=0", "--hsts=off", "--tries=3")
_SERVER_ERROR = 8  # it ends so after any 404


class Wget2(Peer):
    """wget2 that writes plain files, as it is meant to, or no files."""

    exits = frozenset({0, _SERVER_ERROR})

    def __init__(self, *, files: bool = True) -> None:
        self.name = "wget2" if files else "wget2-no-files"
        self._output = "--directory-prefix=files" if files else "--output-document=/dev/null"
        kept = "plain files written, as it is meant to" if files else "pages thrown away, which is the fastest"
        self.settings = (
            f"{_THREADS} threads, where more or fewer were no faster (gentle and broad: one a site, broad with the "
            "delay in each; it has no limit a site); "
            f"{kept}; robots.txt obeyed, so that it fetches what the others do; files told by their names are left out"
        )
        self.habits = Habits(
            works_as=f"one process, {_THREADS} threads",
            robots="obeyed",
            at_a_time=f"up to {_THREADS} (gentle: no more than sites in all)",
            keeps="files" if files else "nothing",
            resumes="begins again",
        )

    def why_not(self) -> str | None:
        """Tell whether it is not installed."""
        return None if shutil.which("wget2") else "wget2 is not installed (Debian: wget2)"

    def command(self, task: Task) -> list[str]:
        """Return its command."""
        threads = len(task.urls()) if task.gentle else _THREADS
        refused = f"--reject={','.join(sorted(NOT_DOCUMENTS))}"
        options = [
            *_RECURSIVE,
            f"--max-threads={threads}",
            f"--wait={task.delay:g}",
            "--robots=on",
            "--filter-urls",
            refused,
            self._output,
        ]
        return ["wget2", *options, f"--input-file={task.seeds}"]
