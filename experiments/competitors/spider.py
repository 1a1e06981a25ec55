"""spider, the crawler library in Rust, as a program of the kind that its documentation shows."""

from __future__ import annotations

from experiments.competitors.built import BuiltProgram
from experiments.competitors.peer import Habits, Peer, Task

_PER_SITE = 8
_PROGRAM = BuiltProgram(
    "spider", ["cargo", "build", "--release", "--quiet"], "target/release/spider_crawl", {"CARGO_BUILD_JOBS": "1"}
)


class Spider(Peer):
    """spider with a crawl for each site, all side by side in one runtime."""

    name = "spider"
    settings = (
        f"a Website for each seed, all crawled side by side; {_PER_SITE} requests at a time on each (gentle and broad: "
        "1; broad: with the delay); its smallest set of features, so no headless browser, cache or disk; robots.txt "
        "obeyed, which it does not by default; nothing kept"
    )
    habits = Habits(
        works_as="one process, a thread a processor",
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
        return [_PROGRAM.path, str(task.seeds), str(per_site), f"{task.delay * 1000:.0f}"]
