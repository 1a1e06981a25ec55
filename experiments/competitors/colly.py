"""colly, the crawler library in Go, as a program of the kind that its documentation shows."""

from __future__ import annotations

from experiments.competitors.built import BuiltProgram
from experiments.competitors.peer import Habits, Peer, Task
from scrawler.urls.filetype import NOT_DOCUMENTS

_PER_SITE = 8
_PROGRAM = BuiltProgram("colly", ["go", "build", "-p", "1", "-o", "colly", "."], "colly")


class Colly(Peer):
    """colly's asynchronous collector with a limit for each site."""

    name = "colly"
    settings = (
        f"an asynchronous collector that visits what its callback for links finds; a limit of {_PER_SITE} requests at "
        "a time on each site (gentle and broad: 1; broad: with the delay); fragments cut off, as it would fetch a page "
        "for each; files told by their names left out; robots.txt obeyed, which it does not by default; nothing written"
    )
    habits = Habits(
        works_as="one process, a goroutine for each URL that waits",
        robots="obeyed",
        at_a_time=f"{_PER_SITE} (gentle: 1)",
        keeps="nothing",
        resumes="begins again",
    )

    def why_not(self) -> str | None:
        """Tell whether its program is not built."""
        return _PROGRAM.why_not()

    def install(self) -> None:
        """Build its program."""
        _PROGRAM.install()

    def command(self, task: Task) -> list[str]:
        """Return the program's command."""
        per_site = 1 if task.gentle else _PER_SITE
        refused = rf"(?i)\.(?:{'|'.join(sorted(NOT_DOCUMENTS))})(?:\?|$)"
        return [_PROGRAM.path, str(task.seeds), str(per_site), f"{task.delay:g}s", refused]
