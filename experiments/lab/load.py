"""What a database can carry: machines in fast motion, that use the store as a crawl does and fetch nothing."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from statistics import median
from typing import Any

from sqlalchemy import Engine, event

from experiments.lab.process import cpu_seconds
from scrawler.core.party.entries import Entry, encode
from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.machines import BEAT_EVERY
from scrawler.model.rows import ExternalRow, PageRow, PatternRow, RejectionRow
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.samples import MachineSample
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.claims.servers import Servers
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import open_database
from tests.together import together

_IMPORTED = 20_000  # seeds of one call
_CLAIMED = 20  # sites of one claim: half the Seed ID Queue
_THREADS = 20
_PER_IP = 8
_FIRST_ADDRESS = int(IPv4Address("10.0.0.0"))


@dataclass(frozen=True)
class Mix:
    """What a machine writes, and how often: `interval` seconds pass from one checkpoint to the next.

    `per_page` are rows a page row, by table: candidate, pattern, rejection; `links` URLs appended to the list.
    """

    held: int  # sites in work
    interval: float
    pages: int  # page rows of a checkpoint
    pages_per_site: int
    per_page: Mapping[str, float]
    links: float
    machines: int  # that share the crawl


@dataclass(frozen=True)
class Carried:
    """What came through in a second, all processes together; CPU in seconds, of the server and of its clients."""

    pages: float
    checkpoints: float
    claims: float
    sites: float  # claimed
    beats: float
    shares: float  # questions for the places at addresses
    machines: float  # how many machines live that fast together
    server_cpu: float
    client_cpu: float
    statements: Mapping[str, float]  # of one checkpoint, claim, heartbeat, share


def carried(url: str, mix: Mix, seeds: int, processes: int, seconds: float, server: int | None) -> Carried:
    """Let processes be machines in fast motion for some seconds; `server` is the process id of the database's."""
    with closing(open_database(url)) as database:
        for start in range(0, seeds, _IMPORTED):
            hosts = (f"www.host-{number}.example.org" for number in range(start, min(start + _IMPORTED, seeds)))
            Seeds(database).add([NewSeed(f"http://{host}/", host) for host in hosts])
    results = together(live_fast, processes, url, asdict(mix), seconds, server)
    span = max(one["ended"] for one in results) - min(one["began"] for one in results)
    total: dict[str, float] = defaultdict(float)
    for one in results:
        for what, number in one["calls"].items():
            total[what] += number / span
    # On a busy machine a process may not come to all kinds of calls in so short a time.
    kinds = dict.fromkeys(what for one in results for what in one["statements"])
    statements = {
        what: median(one["statements"][what] for one in results if what in one["statements"]) for what in kinds
    }
    return Carried(
        pages=total["checkpoint"] * mix.pages,
        checkpoints=total["checkpoint"],
        claims=total["claim"],
        sites=total["claim"] * _CLAIMED,
        beats=total["heartbeat"],
        shares=total["share"],
        machines=total["checkpoint"] * mix.interval,
        server_cpu=max(one["server_cpu"] for one in results) / span,
        client_cpu=sum(one["cpu"] for one in results) / span,
        statements=statements,
    )


def live_fast(
    number: int, ready: Callable[[], object], url: str, mix: Mapping[str, Any], seconds: float, server: int | None
) -> dict[str, Any]:
    """Be one machine for some seconds, as fast as the database lets it (one process of `carried`)."""
    with closing(open_database(url, create=False)) as database:
        machine = _Machine(database, number, Mix(**mix))
        ready()
        began, cpu, of_server = time.time(), time.process_time(), cpu_seconds([server] if server else [])
        while time.time() < began + seconds:
            machine.live()
        return {
            "began": began,
            "ended": time.time(),
            "cpu": time.process_time() - cpu,
            "server_cpu": cpu_seconds([server] if server else []) - of_server,
            **machine.counted.result(),
        }


class _Counted:
    """Calls of the store by kind, and the statements that they took."""

    def __init__(self) -> None:
        self._calls: dict[str, int] = defaultdict(int)
        self._statements: dict[str, int] = defaultdict(int)
        self._kind = ""
        event.listen(Engine, "before_cursor_execute", self._count)

    def _count(self, *_: object) -> None:
        self._statements[self._kind] += 1

    @contextmanager
    def call(self, kind: str) -> Iterator[None]:
        """Count a call, and what it asks the database."""
        self._calls[kind] += 1
        self._kind = kind
        yield

    def result(self) -> dict[str, Any]:
        """Return the calls by kind, and the mean number of statements of each."""
        each = {kind: self._statements[kind] / calls for kind, calls in self._calls.items()}
        return {"calls": dict(self._calls), "statements": each}


class _Machine:
    """A machine whose pages come from nowhere."""

    def __init__(self, database: Any, number: int, mix: Mix) -> None:
        self._mix = mix
        self._dice = random.Random(number)
        self._machines = Machines(database)
        self._id = self._machines.register(f"load-{number}", os.getpid(), database.now()).id
        self._claims = Claims(database, self._id)
        self._checkpoints = Checkpoints(database, self._id)
        self._servers = Servers(database, self._id)
        self._held: dict[int, _Held] = {}
        self._left: list[str] = []  # addresses of sites that have ended
        self._beats_due = 0.0
        self.counted = _Counted()
        self._claim()
        for site in self._held.values():  # else all would end at once
            site.left = self._dice.randint(1, mix.pages_per_site)
        self.counted = _Counted()

    def live(self) -> None:
        """Live through the time from one checkpoint to the next."""
        share, more = divmod(self._mix.pages, max(len(self._held), 1))
        deltas = [site.delta(share + (place < more)) for place, site in enumerate(self._held.values())]
        with self.counted.call("checkpoint"):
            self._checkpoints.commit(deltas)
        self._left += [site.address for site in self._held.values() if site.left == 0]
        self._held = {number: site for number, site in self._held.items() if site.left > 0}
        self._claim()
        self._beats_due += self._mix.interval * 1000 / BEAT_EVERY
        while self._beats_due >= 1:
            self._beat()

    def _claim(self) -> None:
        while len(self._held) + _CLAIMED <= self._mix.held:
            with self.counted.call("claim"):
                claimed = self._claims.claim(_CLAIMED, 10, machines=self._mix.machines)
            if len(claimed) < _CLAIMED:
                raise RuntimeError("the load has used up all seeds: give more of them")
            for site in claimed:
                held = self._held[site.id] = _Held(site, self._mix, self._dice)
                self._share({held.address: 1})

    def _beat(self) -> None:
        self._beats_due -= 1
        with self.counted.call("heartbeat"):
            self._machines.beat(self._id, MachineSample(0, 0, 0, 0, 0), [10] * _THREADS)
        self._share({site.address: 1 for site in self._held.values()})

    def _share(self, places: Mapping[str, int]) -> None:
        """Ask for places at addresses, as a machine does for each site that a thread takes up, and after each beat."""
        left, self._left = self._left, []
        with self.counted.call("share"):
            self._servers.share(places, left, _PER_IP, alone=False)


class _Held:
    """A site in work, with one seed."""

    def __init__(self, claimed: ClaimedSite, mix: Mix, dice: random.Random) -> None:
        self._claimed = claimed
        self._mix = mix
        self._dice = dice
        self._seed = claimed.seeds[0]
        self._done = 0
        self._listed = 0
        self.address = str(IPv4Address(_FIRST_ADDRESS + claimed.id))
        self.left = mix.pages_per_site

    def delta(self, pages: int) -> SiteDelta:
        """Return what so many more pages, if there are as many, have brought."""
        count = min(pages, self.left)
        self.left -= count
        rows = tuple(_page(self._seed.id, self._done + number) for number in range(count))
        self._done += count
        ended = self.left == 0
        delta = SeedDelta(
            self._seed.id,
            rows,
            (LaneState(self._seed.id, 0, self._seed.id, self._done, max(self._listed, self._done)),),
            self._chunks(count),
            tuple(ExternalRow(*self._url("candidate"), 3, 1) for _ in range(self._some("candidate", count))),
            SeedCounts(requests=self._done, pages=self._done),
            {"scope": 3},
            1,
            SeedState.DONE if ended else SeedState.ACTIVE,
            EndReason.COMPLETED if ended else None,
            patterns=tuple(
                PatternRow(*self._url("pattern", few=8), self._done, 0, 0, 0, "")
                for _ in range(self._some("pattern", count))
            ),
            rejections=tuple(
                RejectionRow(*self._url("rejection")[:2], "scope", "http://example.org/", "evidence")
                for _ in range(self._some("rejection", count))
            ),
        )
        return SiteDelta(self._claimed.id, self._claimed.token, (delta,), 0, self.address, released=ended)

    def _chunks(self, pages: int) -> tuple[ChunkRow, ...]:
        """Return the tail of the list, written again with what was appended."""
        appended = round(pages * self._mix.links)
        if appended == 0:
            return ()
        self._listed += appended
        entries = [Entry(f"{self._seed.url}t3/p{number}.html", 3, number, 0) for number in range(self._listed)]
        return (ChunkRow(self._seed.id, 0, 0, 0, len(entries), encode(entries)),)

    def _some(self, table: str, pages: int) -> int:
        """Return how many rows of a table so many pages bring, on the average."""
        return int(pages * self._mix.per_page.get(table, 0.0) + self._dice.random())

    def _url(self, kind: str, few: int = 1 << 30) -> tuple[int, bytes, str]:
        url = f"http://{kind}-{self._dice.randrange(few)}.example.org/some/page.html"
        return self._seed.id, url_hash(url), url


def _page(seed_id: int, number: int) -> PageRow:
    url = f"http://www.host-{seed_id}.example.org/t3/s1/p{number}.html"
    where = ("fetched", 200, "text/html", 14_000, b"\x12" * 20, 1, 1_790_000_000_000, 200)
    archived = ("crawl-1.warc.gz", number * 4_000, 3_900, 0, "")
    return PageRow(seed_id, url_hash(url), url, 3, seed_id, number, *where, *archived, 0, 1 << 40)
