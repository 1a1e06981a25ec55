"""From what some machines ask of a database to what many would, beside what a database was seen to carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.lab.load import Carried, Mix
from experiments.lab.report import Claim
from scrawler.model.machines import BEAT_EVERY
from tests.torture.sql import PlainSql

_CHECKPOINT_EVERY, _CHECKPOINT_PAGES = 5.0, 500  # seconds, pages: defaults of the settings of these names
_ENOUGH_PAGES = 1_000  # page rows over which a mix can be counted
_TABLES = ("candidate", "pattern", "rejection")


@dataclass(frozen=True)
class Goal:
    """A large crawl, polite and never held up by anything but politeness; times in seconds."""

    machines: int = 50
    threads: int = 20
    seeds_per_thread: int = 10
    sites: int = 250_000
    delay: float = 1.0
    latency: float = 0.2

    @property
    def held(self) -> int:
        """Sites that a machine has in work."""
        return self.threads * self.seeds_per_thread

    @property
    def pages(self) -> float:
        """Pages a second of one machine."""
        return self.held / (self.latency + max(self.delay, 2 * self.latency))  # delay_factor 2


@dataclass(frozen=True)
class Measured:
    """What the database of a crawl held: page rows, rows a page row by table, URLs listed a page row."""

    pages: int
    per_page: Mapping[str, float]
    links: float


def measured_in(sql: PlainSql) -> Measured:
    """Count in the database of a crawl."""
    pages = max(int(sql.one("SELECT COUNT(*) FROM page")), 1)
    per_page = {table: int(sql.one(f"SELECT COUNT(*) FROM {table}")) / pages for table in _TABLES}
    listed = int(sql.one("SELECT SUM(length) FROM lane WHERE kind = 0") or 0)
    return Measured(pages, per_page, listed / pages)


def said_of_mix(measured: Measured) -> str:
    """Say over how many page rows the mix was counted, and whether these are enough."""
    rows = "".join(f"{table} {number:.2f}, " for table, number in measured.per_page.items())
    said = (
        f"the mix of the load was counted over {measured.pages:,} page rows: {rows}"
        f"listed URLs {measured.links:.2f} a page row"
    )
    few = ": too few, the load is not that of a crawl and its figures are no answer to the goal"
    return said if measured.pages >= _ENOUGH_PAGES else said + few


def mix_of(measured: Measured, goal: Goal, pages_per_site: int) -> Mix:
    """Return what one machine of the goal writes, with what each page brought in a crawl that was measured."""
    interval = min(_CHECKPOINT_EVERY, _CHECKPOINT_PAGES / goal.pages)
    pages = round(goal.pages * interval)
    return Mix(goal.held, interval, pages, pages_per_site, measured.per_page, measured.links, goal.machines)


def extrapolated(goal: Goal, mix: Mix, loads: Mapping[str, Carried]) -> list[Claim]:
    """Put what the machines of the goal ask for beside what databases carried of this mix."""
    source = f"goal: {goal.machines} machines of {goal.threads} threads of {goal.seeds_per_thread} seeds"
    pages = goal.machines * goal.pages
    hours = goal.sites * mix.pages_per_site / pages / 3600
    wanted = {
        f"page rows/s, {goal.sites:,} sites of {mix.pages_per_site} pages in {hours:.1f} h": pages,
        "checkpoints/s": goal.machines / mix.interval,
        "sites claimed/s": pages / mix.pages_per_site,
        "heartbeats/s": goal.machines * 1000 / BEAT_EVERY,
        "questions for the places at addresses/s": pages / mix.pages_per_site + goal.machines * 1000 / BEAT_EVERY,
        "machines": goal.machines,
    }
    carried = {name: _rates(load, mix) for name, load in loads.items()}
    return [
        Claim(what, source, f"{number:,.1f}", "; ".join(f"{name}: {rates[place]}" for name, rates in carried.items()))
        for place, (what, number) in enumerate(wanted.items())
    ]


def _rates(load: Carried, mix: Mix) -> list[str]:
    a_core = 1 / server if (server := load.server_cpu or load.client_cpu) else 0.0
    asked = load.statements
    return [
        f"{load.pages:,.0f} ({load.pages * a_core:,.0f} for each core of the database's CPU)",
        f"{load.checkpoints:.1f} of {mix.pages} page rows, {asked.get('checkpoint', 0):.0f} statements each",
        f"{load.sites:.1f}, {asked.get('claim', 0):.0f} statements for {load.sites / max(load.claims, 0.001):.0f}",
        f"{load.beats:.1f}, {asked.get('heartbeat', 0):.0f} statements each",
        f"{load.shares:.1f}, {asked.get('share', 0):.0f} statements each",
        f"{load.machines:.0f} ({load.machines * a_core:,.0f} for each core of the database's CPU)",
    ]
