"""What becomes of links to the sites of others, and at what price: python -m experiments.modes."""

from __future__ import annotations

import sqlite3
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE
from scrawler.features.cluster.partition.maps import owner_map
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable
from scrawler.features.synthweb.web import SyntheticWeb
from scrawler.model.exchange import Mode
from scrawler.model.machines import Living, LivingMachine
from scrawler.model.partitions import PartitionKind
from scrawler.units import counted

_TIMEOUT = 600.0  # seconds of a real crawl
_PART = 0.25  # of all pages: when so many were downloaded, quality is measured
_HERE, _PAPER = "", ", as in the paper"
_WAYS = ("firewall", "exchange", "cross-over", "firewall" + _PAPER, "cross-over" + _PAPER)


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the webs are, and by how many machines they are crawled."""

    sites: int
    seeds: int
    machines: Sequence[int]
    real_sites: int
    real_machines: Sequence[int]


FULL = Scale(400, 100, (1, 2, 4, 8, 16), 24, (3, 5))
QUICK = Scale(40, 10, (1, 4), 6, (3,))


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the web that is simulated: its site, and where its links lead."""

    site: int
    links: tuple[int, ...]


@dataclass(slots=True)
class Machine:
    """One machine: its own pages to fetch, in order, and those of others that it has found."""

    own: deque[int] = field(default_factory=deque)
    others: deque[tuple[int, bool]] = field(default_factory=deque)  # and whether they are inside a site that it visits
    listed: set[int] = field(default_factory=set)  # of its own ones
    visited: set[int] = field(default_factory=set)  # listed as a guest
    sent: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of Cho and Garcia-Molina, each of a whole crawl."""

    coverage: float
    overlap: float
    sent_a_page: float
    quality: float


@experiment
def main(quick: bool, results: Path) -> None:
    """What do the modes bring and cost: coverage, overlap, URLs sent, and quality, for 1 to 16 machines?"""
    scale = QUICK if quick else FULL
    rows = [*_shown(_simulated(scale)), *_shown(_real(scale))]
    write_report(report(rows, scale), results)


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        click.echo(row_text(row))
        yield row


# -- simulation ------------------------------------------------------------------------------------------------


def _simulated(scale: Scale) -> Iterator[Row]:
    web = SyntheticWeb(WebSpec(sites=scale.sites, mean_pages=20, hidden=0.3, links=10, alias_every=0), port=80)
    pages, homes = graph(web)
    seeds = Random(1).sample(homes, scale.seeds)
    for machines in scale.machines:
        for way in _WAYS:
            yield _row(f"simulated: {way}", machines, simulated(pages, seeds, machines, way))


def _row(arm: str, machines: int, found: Measures) -> Row:
    return {
        "arm": f"{arm}, {counted(machines, 'machine')}",
        ROUND: 1,
        "way": arm,
        "machines": machines,
        "coverage, %": 100 * found.coverage,
        "overlap": found.overlap,
        "sent a page": found.sent_a_page,
        "quality, %": 100 * found.quality,
    }


def graph(web: SyntheticWeb) -> tuple[list[Page], list[int]]:
    """Return all HTML pages of a web, and the numbers of the home pages."""
    homes = web.seeds()
    urls = list(dict.fromkeys((*homes, *sorted(reachable(web, homes, robots=False)))))
    ids = {url: number for number, url in enumerate(urls)}
    pages = []
    for url in urls:
        target = web.target(url)
        found = (web.url(link.target) for link in web.links(web.site(target.site), target.number))
        links = dict.fromkeys(ids[one] for one in found if one in ids and one != url)
        pages.append(Page(target.site, tuple(links)))
    return pages, [*range(len(homes))]


def simulated(pages: Sequence[Page], seeds: Sequence[int], machines: int, way: str) -> Measures:
    """Crawl by so many machines, of which each fetches a page a turn; a page's site belongs to one of them.

    Here a link leads out if it leads to another site, in the paper if it leads to another machine. Guests here know of
    each other's pages, and do not begin with one that is known to be fetched, but what is inside a site at which they
    are they fetch whatever its owner has; in the paper nobody knows anything of anybody.
    """
    in_paper, mode = way.endswith(_PAPER), way.removesuffix(_PAPER)
    owner = _owners(pages, machines)
    crew = [Machine() for _ in range(machines)]
    for seed in seeds:
        _list(crew[owner[pages[seed].site]], seed)
    guests: set[int] = set()
    order: list[int] = []
    fetched: set[int] = set()
    sent, busy = 0, True
    while busy:
        busy = False
        for machine in crew:
            page = _next(machine, mode, in_paper, guests, fetched)
            if page is None:
                continue
            busy = True
            order.append(page)
            fetched.add(page)
            as_guest = page in machine.visited
            for link in pages[page].links:
                home = crew[owner[pages[link].site]]
                inside = home is machine if in_paper else pages[link].site == pages[page].site
                if inside and not as_guest:
                    _list(machine, link)
                elif mode == "exchange":
                    sent += link not in machine.sent
                    machine.sent.add(link)
                    _list(home, link)
                elif mode == "cross-over":
                    machine.others.append((link, inside))
    found = reached(pages, seeds)
    return _measures(order, found, sent, pages)


def _list(machine: Machine, page: int) -> None:
    if page not in machine.listed:
        machine.listed.add(page)
        machine.own.append(page)


def _next(machine: Machine, mode: str, in_paper: bool, guests: set[int], fetched: set[int]) -> int | None:
    """Return what a machine fetches in this turn: its own pages first, those of others as a guest, None for nothing."""
    if machine.own:
        return machine.own.popleft()
    while mode == "cross-over" and machine.others:
        page, inside = machine.others.popleft()
        listed = machine.visited if in_paper else guests
        known = page in machine.listed if in_paper else page in fetched and not inside
        if page in listed or known:
            continue
        listed.add(page)
        machine.visited.add(page)
        return page
    return None


def _owners(pages: Sequence[Page], machines: int) -> list[int]:
    living = Living(tuple(LivingMachine(one, 10, f"agent-{one}") for one in range(1, machines + 1)))
    owners = owner_map(PartitionKind.CONSISTENT, living)
    sites = range(max(page.site for page in pages) + 1)
    return [(owners.owner(f"site{site}.example") or 1) - 1 for site in sites]


def reached(pages: Sequence[Page], seeds: Sequence[int]) -> set[int]:
    """Return all pages to which the seeds lead over all sites."""
    found, waiting = set(seeds), deque(seeds)
    while waiting:
        for link in pages[waiting.popleft()].links:
            if link not in found:
                found.add(link)
                waiting.append(link)
    return found


def _measures(order: Sequence[int], found: set[int], sent: int, pages: Sequence[Page]) -> Measures:
    different = set(order)
    named = Counter(link for page in found for link in pages[page].links)
    return Measures(
        coverage=len(different) / len(found),
        overlap=(len(order) - len(different)) / len(different),
        sent_a_page=sent / len(order),
        quality=quality(order, named, found),
    )


def quality(order: Sequence[int | str], named: Counter[int] | Counter[str], found: set[int] | set[str]) -> float:
    """Return what share of the pages that are named most had come when a part of all was downloaded.

    As many of the most important pages count as there were downloads by then; a page is as important as links name it.
    """
    most = max(1, min(len(order), int(_PART * len(found))))
    best = sorted(found, key=lambda page: (-named[page], page))[:most]
    return len(set(best) & set(order[:most])) / most


# -- real crawls -----------------------------------------------------------------------------------------------


def _real(scale: Scale) -> Iterator[Row]:
    spec = WebSpec(seed=3, sites=scale.real_sites, mean_pages=10, page_bytes=500, links=8, hidden=0.3, alias_every=0)
    with SynthServer(spec) as web:
        seeds = web.web.seeds()[: max(3, scale.real_sites // 4)]
        found = reachable(web.web, seeds)
        targets = map(web.web.target, found)
        links = (web.web.links(web.web.site(target.site), target.number) for target in targets)
        named = Counter(web.web.url(link.target) for of_page in links for link in of_page)
        for machines in scale.real_machines:
            for mode in (Mode.FIREWALL, Mode.EXCHANGE, Mode.CROSS_OVER):
                yield _row(f"crawled: {mode.value}", machines, _crawled(web, seeds, machines, mode, found, named))


def _crawled(
    web: SynthServer, seeds: Sequence[str], machines: int, mode: Mode, found: set[str], named: Counter[str]
) -> Measures:
    with crawled(
        web, seeds, timeout=_TIMEOUT, machines=machines, threads=1, seeds_per_thread=4, delay=0.02, delay_factor=0,
        export=False, mode=mode.value, checkpoint_interval=0.5,
    ) as crawl:  # fmt: skip
        with closing(sqlite3.connect(crawl.folder / DATABASE)) as database:
            urls = [url for (url,) in database.execute("SELECT url FROM page WHERE result = 'fetched'")]
            (sent,) = database.execute("SELECT SUM(sent) FROM machine").fetchone()
        html = [url for url in urls if url in found]
        order = [line.url for line in crawl.pages if line.url in found]
        return Measures(
            coverage=len(set(html)) / len(found),
            overlap=(len(html) - len(set(html))) / len(set(html)),
            sent_a_page=sent / len(urls),
            quality=quality(order, named, found),
        )


# -- report ----------------------------------------------------------------------------------------------------


def report(rows: Sequence[Row], scale: Scale) -> Report:
    """Return the report of all simulations and crawls."""
    measures = ("coverage, %", "overlap", "sent a page", "quality, %")
    panels = [Panel(name, "machines", name, _lines(rows, name)) for name in measures]
    notes = [
        f"Simulated: {scale.sites} sites of 20 pages on average, {scale.seeds} of their home pages are seeds, and three"
        " in ten pages of a site are linked only from elsewhere. Each machine fetches a page a turn.",
        f"Crawled: {scale.real_sites} such sites of 10 pages, a quarter of the home pages are seeds; a thread each.",
        "Quality is the share of the pages named by most links among as many downloads, when a quarter of all pages"
        " could have come.",
        "Where a link leads out of a site (here), not of a machine (in the paper), firewall covers as much with any"
        " number of machines.",
    ]
    return Report(
        "modes", "Modes: links to the sites of others", "arm", rows, notes, _claims(rows),
        [Plot("modes, by the number of machines", panels)],
    )  # fmt: skip


def _lines(rows: Sequence[Row], name: str) -> list[Line]:
    lines = []
    for way in dict.fromkeys(str(row["way"]) for row in rows):
        mine = [row for row in rows if row["way"] == way]
        xs = [int(number(row, "machines")) for row in mine]
        lines.append(Line(way, xs, [number(row, name) for row in mine], points=True))
    return lines


def _claims(rows: Sequence[Row]) -> list[Claim]:
    most = max(int(number(row, "machines")) for row in rows if str(row["way"]).startswith("simulated"))

    def at(way: str, name: str) -> str:
        found = next(row for row in rows if row["way"] == f"simulated: {way}" and row["machines"] == most)
        return f"{number(found, name):.2f}"

    source = "Cho and Garcia-Molina, table 1"
    return [
        Claim(f"coverage with exchange, {most} machines, %", source, "100 (good)", at("exchange", "coverage, %")),
        Claim(f"overlap with exchange, {most} machines", source, "0 (good)", at("exchange", "overlap")),
        Claim(f"coverage with firewall, {most} machines, %", source, "bad", at("firewall" + _PAPER, "coverage, %")),
        Claim(f"coverage with cross-over, {most} machines, %", source, "good", at("cross-over", "coverage, %")),
        Claim(f"overlap with cross-over, {most} machines", source, "bad", at("cross-over" + _PAPER, "overlap")),
        Claim(f"overlap with cross-over as it is here, {most} machines", source, "bad", at("cross-over", "overlap")),
    ]


if __name__ == "__main__":
    main()
