"""What the selector is told by the other threads of its machine."""

from __future__ import annotations

import threading

from scrawler.core.party.site import SiteContext


class SelectorInbox:
    """Wakes the selector for what has come. All but `let_go` and `seeds_came` are called under the turn."""

    def __init__(self, turn: threading.RLock) -> None:
        self.changed = threading.Condition(turn)
        self.news = True  # something happened since the database was last asked
        self.hungry: list[SiteContext] = []  # held sites that ask for further seeds
        self.came = False  # seeds were added to the database, perhaps some of sites that are held

    def look_again(self) -> None:
        """Ask the database again: there is room, or something was committed."""
        self.news = True
        self.changed.notify()

    def let_go(self) -> None:
        """Ask again, for a commit has let go of something. Done after each commit, that costs 10 us a page."""
        with self.changed:
            self.look_again()

    def ask_more(self, site: SiteContext) -> None:
        """Bring further seeds of a held site."""
        site.await_answer()
        self.hungry.append(site)
        self.look_again()

    def seeds_came(self) -> None:
        """Look for seeds that were added, also at sites that are held already."""
        with self.changed:
            self.came = True
            self.look_again()

    def take(self) -> tuple[list[SiteContext], bool]:
        """Return the sites that ask for further seeds, and whether seeds were added; the selector sees to it."""
        hungry, self.hungry = self.hungry, []
        came, self.came = self.came, False
        self.news = False
        return hungry, came
