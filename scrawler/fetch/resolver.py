"""Names to addresses: a small pool of DNS threads behind a bounded queue, a bounded cache in front of it."""

from __future__ import annotations

import math
import socket
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from time import monotonic

from scrawler.errors import StartError
from scrawler.fetch import guard
from scrawler.model.results import Result
from scrawler.threads import start

_NEVER = math.inf
_NEGATIVE_TTL = 60.0  # seconds for which it is known that there is no such name: there may be one soon
_QUEUE_PER_THREAD = 8
_CACHE_SIZE = 100_000  # names whose addresses are remembered
_STUCK = 1.0  # seconds after which a look-up is taken for one that hangs, so that another thread works in its place
_MOST_STUCK = 500  # look-ups that hang, and have threads in their places


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a host is: an address, or why there is none (NO_ADDRESS, PRIVATE_ADDRESS)."""

    address: str | None
    result: Result | None
    detail: str
    expires_at: float  # seconds of time.monotonic()


OnDone = Callable[[str, Resolution], None]


def system_addresses(host: str) -> list[str]:
    """Ask the system's resolver and return the addresses in its order. Raises OSError or UnicodeError without any."""
    # Names go as bytes: Python's IDNA codec would refuse some that the DNS may know (underscores, long labels).
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class Resolver:
    """Looks names up, each once per `ttl` seconds, however many ask.

    The system's resolver tells no times to live, so `ttl` is fixed, and at most 60 s for failures. `static` maps
    host names to addresses and goes before the DNS; its addresses pass the guard like all others. IPv4 addresses
    are preferred, and one that the guard refuses is never chosen. `queue` names may wait for a thread. Some name
    servers never answer: whoever calls `keep_up` now and then lets other names pass by theirs. Raises StartError.
    """

    def __init__(
        self,
        threads: int = 32,
        ttl: float = 300.0,
        static: Mapping[str, str] | None = None,
        allow_private: bool = False,
        allow_addresses: Iterable[str] = (),
        *,
        queue: int = 0,
        look_up: Callable[[str], list[str]] = system_addresses,
    ) -> None:
        self._ttl = ttl
        self._static = {host.removesuffix("."): address for host, address in (static or {}).items()}
        self._allow_private = allow_private
        self._allowed = guard.allowed_networks(allow_addresses)
        self._look_up = look_up
        self._lock = threading.Condition()
        self._cache: OrderedDict[str, Resolution] = OrderedDict()
        self._waiting: dict[str, list[OnDone]] = {}  # hosts in the queue, or in work -> who waits for them
        self._queue: deque[str] = deque()
        self._room = max(queue, threads * _QUEUE_PER_THREAD)
        self._usual = threads
        self._began: dict[threading.Thread, float] = {}  # when each thread that asks has begun to
        self._closed = False
        self._lookups = 0
        self._threads = [threading.Thread(target=self._work, name=f"dns-{number}") for number in range(threads)]
        try:
            for thread in self._threads:
                start(thread)
        except StartError:
            self.close()
            raise

    @property
    def lookups(self) -> int:
        """How many names were asked of the system so far."""
        return self._lookups

    def lookup(self, host: str) -> Resolution | None:
        """Return what is known without asking anybody: a literal, a static or a cached name."""
        with self._lock:
            return self._known(host)

    def resolve(self, host: str, on_done: OnDone) -> bool:
        """Call `on_done(host, resolution)` once it is known; never blocks.

        It is called in a DNS thread, or here and now if nobody need be asked; it must not block or raise. False:
        the queue is full, or the resolver closed; `on_done` will not be called, try again later.
        """
        with self._lock:
            known = self._known(host)
            if known is None:
                return self._enqueue(host, on_done)
        on_done(host, known)
        return True

    def keep_up(self) -> None:
        """Let a further thread work for each look-up that hangs while names wait; it ends when it is not needed."""
        with self._lock:
            since = monotonic() - _STUCK
            stuck = min(sum(began <= since for began in self._began.values()), _MOST_STUCK)
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            missing = min(self._usual + stuck - len(self._threads), len(self._queue))
            if self._closed or missing <= 0:
                return
            with suppress(StartError):  # where the system has no room for them, names wait
                for _ in range(missing):
                    thread = threading.Thread(target=self._work, name="dns-more")
                    start(thread)
                    self._threads.append(thread)

    def forget_failures(self) -> None:
        """Forget which names were not found, so that they are asked for again: the resolver may have been away."""
        with self._lock:
            failed = [host for host, known in self._cache.items() if known.result is Result.NO_ADDRESS]
            for host in failed:
                del self._cache[host]

    def close(self, timeout: float = 5.0) -> bool:
        """End the threads; look-ups not yet begun are dropped, and no `on_done` is called any more.

        A thread inside the system's resolver cannot be interrupted. It ends when that gives up, which resolv.conf
        bounds (timeout times attempts times servers, half a minute as a rule). False says that after `timeout`
        seconds such threads are left: the process then ends that much later, unless it is ended by `os._exit`.
        """
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._waiting.clear()
            self._lock.notify_all()
        deadline = monotonic() + timeout
        for thread in self._threads:
            if thread.is_alive():  # where threads could not be started, some never were
                thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _known(self, host: str) -> Resolution | None:
        cached = self._cache.get(host)
        if cached is not None:
            if cached.expires_at > monotonic():
                self._cache.move_to_end(host)
                return cached
            del self._cache[host]
        address = self._static.get(host.removesuffix(".")) or _literal(host)
        return None if address is None else self._choose(host, [address], _NEVER)

    def _enqueue(self, host: str, on_done: OnDone) -> bool:
        if self._closed:
            return False
        if host in self._waiting:
            self._waiting[host].append(on_done)
            return True
        if len(self._queue) >= self._room:
            return False
        self._waiting[host] = [on_done]
        self._queue.append(host)
        self._lock.notify()
        return True

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._queue and not self._closed:
                    if len(self._threads) - len(self._began) > self._usual:
                        self._threads.remove(threading.current_thread())  # so many are idle that it is not needed
                        return
                    self._lock.wait()
                if self._closed:
                    return
                host = self._queue.popleft()
                self._lookups += 1
                self._began[threading.current_thread()] = monotonic()
            resolution = self._ask(host)
            with self._lock:
                del self._began[threading.current_thread()]
                self._remember(host, resolution)
                callers = self._waiting.pop(host, [])
            for on_done in callers:
                on_done(host, resolution)

    def _ask(self, host: str) -> Resolution:
        try:
            addresses = self._look_up(host)
        except (OSError, UnicodeError) as error:
            return self._failed(Result.NO_ADDRESS, f"{host}: {getattr(error, 'strerror', None) or error}")
        if not addresses:
            return self._failed(Result.NO_ADDRESS, f"{host} has no address")
        return self._choose(host, addresses, monotonic() + self._ttl)

    def _choose(self, host: str, addresses: list[str], expires_at: float) -> Resolution:
        allowed = [address for address in addresses if not self._refuses(address)]
        if not allowed:
            named = f"{host} is at {addresses[0]}, where this crawler does not connect to"
            detail = f"this crawler does not connect to {host}" if _literal(host) else named
            return Resolution(None, Result.PRIVATE_ADDRESS, detail, expires_at)
        address = next((address for address in allowed if ":" not in address), allowed[0])
        return Resolution(_plain(address), None, "", expires_at)

    def _refuses(self, address: str) -> bool:
        return guard.refuses(address, self._allow_private, self._allowed)

    def _failed(self, result: Result, detail: str) -> Resolution:
        return Resolution(None, result, detail, monotonic() + min(self._ttl, _NEGATIVE_TTL))

    def _remember(self, host: str, resolution: Resolution) -> None:
        self._cache[host] = resolution
        if len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)


def _plain(address: str) -> str:
    """Return an address in the one form by which its server is known: an IPv4 address mapped into IPv6 is that one."""
    mapped = IPv6Address(address).ipv4_mapped if ":" in address else None
    return address if mapped is None else str(mapped)


def _literal(host: str) -> str | None:
    """Return the address that a host is itself, with or without the brackets of a URL; None for a name."""
    if not (":" in host or host[-1:].isdigit()):  # no address: most names are told apart without an exception
        return None
    try:
        address = ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return None
    return address.compressed if isinstance(address, IPv6Address) else str(address)
