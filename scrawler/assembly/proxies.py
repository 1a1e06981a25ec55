"""The proxies of a run: what is told of them, and whether their names are known, before anything is begun."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from scrawler.core.rules import proxy_of
from scrawler.errors import SettingsError
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.fetch.resolver import system_addresses
from scrawler.model.proxy import NO_PROXY, Proxy
from scrawler.settings import Settings, of_tables
from scrawler.threads import start

_PATIENCE = 10.0  # seconds that the DNS has to say where proxies are; then the run begins without
_LOOK_EVERY = 0.05  # seconds
_NOT_NOW = (socket.EAI_AGAIN, socket.EAI_SYSTEM, socket.EAI_MEMORY)  # these say nothing of the name


class _Named(NamedTuple):
    proxy: Proxy | None  # None: all is asked directly
    told: str  # which proxy it is, and who has named it
    by_setting: bool  # rather than by the environment, whose proxy the crawl may not need at all


def proxies_told(settings: Settings, environment: Mapping[str, str]) -> list[str]:
    """Say, without secrets, through which proxies a crawl goes, and who has named them."""
    return [one.told for one in _named(settings, environment)]


def check_proxies(
    settings: Settings, environment: Mapping[str, str], stop: threading.Event, say: Callable[[str], None]
) -> None:
    """Look whether the names of all proxies are known, as long as `stop` is not set.

    A name that nobody knows is a mistyped one, and would cost every seed. A proxy that is known by name and does not
    answer may come up later; nor is it held against it that the DNS does not answer now, or that the environment has
    named it: `say` is told so.
    Raises SettingsError, StartError.
    """
    looking = []
    for one in _named(settings, environment):
        if one.proxy is not None:
            looking.append((one, look_up := _LookUp(one.proxy.host)))
            start(look_up)
    deadline = time.monotonic() + _PATIENCE
    while any(look_up.is_alive() for _, look_up in looking) and time.monotonic() < deadline:
        if stop.wait(_LOOK_EVERY):
            return
    for one, look_up in looking:
        problem = look_up.problem
        if look_up.is_unknown and one.by_setting:
            raise SettingsError(f"proxy {one.told}: {problem}; nothing was begun")
        if look_up.is_alive() or problem:
            say(f"warning: proxy {one.told}: {problem or 'its name was not found yet'}")


class _LookUp(threading.Thread):
    """Looks a name up; the system's resolver cannot be interrupted."""

    def __init__(self, host: str) -> None:
        super().__init__(name="dns-proxy")
        self._host = host
        self.problem = ""
        self.is_unknown = False  # whether it is certain that there is no such name

    def run(self) -> None:
        try:
            system_addresses(self._host)
        except (OSError, UnicodeError) as error:
            self.is_unknown = not isinstance(error, OSError) or error.errno not in _NOT_NOW
            self.problem = f"the name {self._host} is not found ({getattr(error, 'strerror', None) or error})"


def _named(settings: Settings, environment: Mapping[str, str]) -> Iterator[_Named]:
    if (proxy := proxy_of(settings)) is not None:
        yield _Named(proxy, f"{proxy} (by the setting proxy)", by_setting=True)
    if settings.proxy is None:
        for name, proxy in EnvironmentProxies.of(environment).named():
            yield _Named(proxy, f"{proxy} (by {name} of the environment)", by_setting=False)
    for host in settings.sites:
        if "proxy" in settings.sites[host]:
            own = proxy_of(of_tables(settings, [host]))
            yield _Named(own, f"{own or NO_PROXY} for {host}", by_setting=True)
