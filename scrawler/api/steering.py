"""What the machines of a crawl are told while they run, on whichever host: the orders of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scrawler.api.opened import OpenedCrawl
from scrawler.settings import check_by_host, parse_host, parse_setting
from scrawler.store.claims.control import Control


class SteeredCrawl(OpenedCrawl):
    """A crawl whose machines take orders: see `Crawl`.

    Machines look for orders with each heartbeat, every two seconds. `machines` are names, as `status` has them; methods
    return those that will obey. Who names one that does not run gets a StoreError.
    """

    def pause(self, machines: str | Iterable[str] | None = None) -> list[str]:
        """Let machines start no request until `resume`; without names the crawl, also machines that come later."""
        return self._control().pause(_names(machines))

    def resume(self, machines: str | Iterable[str] | None = None) -> list[str]:
        """Take the pause back, of machines, or of the crawl and all of its machines."""
        return self._control().resume(_names(machines))

    def stop_machines(self, machines: str | Iterable[str] | None = None) -> list[str]:
        """Let machines end cleanly, all that run, or those of these names, as `scrawler stop` does.

        Those of other processes and hosts are among them; `stop` ends the run of this object alone.
        """
        return self._control().stop(_names(machines))

    def set(self, host: str | None = None, /, **values: Any) -> Mapping[str, Any]:
        """Set live settings of all machines, over all that files and flags say; return all that is set now.

        They hold for machines that come later as well, until they are taken back: None takes one back. With a `host`
        (a name, or a pattern as `"*.example.org"`) they are set for that one alone. Without values nothing changes.
        Raises SettingsError for what cannot be set while machines run.
        """
        parsed = {key: parse_setting(key, value) for key, value in values.items()}
        if host is None:
            return self._control().set(parsed) if parsed else self._control().orders().settings
        for key in parsed:
            check_by_host(key)
        return self._control().set({}, {parse_host(host): parsed})

    def _control(self) -> Control:
        _ = self.stored  # made, where nothing was imported yet: orders stand in its row
        return Control(self.database)


def _names(machines: str | Iterable[str] | None) -> list[str] | None:
    if machines is None:
        return None
    return [machines] if isinstance(machines, str) else list(machines)
