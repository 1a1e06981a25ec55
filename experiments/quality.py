"""How early the pages that matter come, by the order of a crawl: PageRank mass over time on webs whose links are known.

python -m experiments.quality
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import click
import numpy as np
from numpy.typing import NDArray

from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from scrawler.core.party.depth import Lane
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import Kind, SyntheticWeb
from scrawler.features.topic.terms import Topic, level_of
from scrawler.model.lanes import LaneKey, LaneState, priority

_DAMPING = 0.85
_AT = (0.05, 0.1, 0.25, 0.5)  # shares of the pages at which the mass is told
_POINTS = 50
_TOPIC = Topic({("lock",): 1.0})
_HELD = 20  # sites in work at a time, where they are crawled one after the other
_LINKS = 8  # of a page of the scale-free web
_INSIDE = 0.75  # of its links lead to the own host
_FIRST_HOSTS = 3  # from whose home pages each crawl begins


@dataclass(frozen=True, slots=True)
class Graph:
    """A web: pages by number, their hosts, where they lead, and which of them have to do with a topic."""

    name: str
    hosts: Sequence[int]  # of each page
    links: Sequence[Sequence[int]]  # of each page, in document order
    seeds: Sequence[int]
    on_topic: Sequence[bool]


class Order(Protocol):
    """In what order pages are fetched that have been found and not fetched yet."""

    def found(self, page: int, on: int, depth: int) -> None:
        """Take a page that was found for the first time, on another page."""

    def seen_again(self, page: int) -> None:
        """Hear of one more link to a page, fetched or not."""

    def next(self) -> int | None:
        """Give the page that is fetched next; None: nothing is left."""


@experiment
@click.option("--rounds", default=3, show_default=True, help="Webs of each kind.")
@click.option("--pages", default=50_000, show_default=True, help="Pages of each web.")
def main(quick: bool, results: Path, rounds: int, pages: int) -> None:
    """Which share of the PageRank is fetched by when, in which order?"""
    if quick:
        rounds, pages = 1, 2_000
    rows: list[Row] = []
    curves: dict[tuple[str, str], list[float]] = {}
    for turn in range(1, rounds + 1):
        for graph in (scale_free(pages, turn), synthetic(pages, turn)):
            for row, way, curve in _rows(graph, turn):
                rows.append(row)
                click.echo(row_text(row))
                curves.setdefault((graph.name, way), curve)
    write_report(report(rows, curves), results)


def _rows(graph: Graph, turn: int) -> Iterator[tuple[Row, str, list[float]]]:
    ranks = pagerank(graph.links)
    # What no link leads to cannot be fetched in any order.
    reached = list(crawl(graph, BreadthFirst(graph)))
    total = float(ranks[reached].sum())
    for way, order in ORDERS.items():
        fetched = list(crawl(graph, order(graph, ranks, turn)))
        mass = list(accumulate(float(ranks[page]) / total for page in fetched))
        row: dict[str, str | int | float] = {
            "order": f"{graph.name}: {way}",
            ROUND: turn,
            "pages": len(fetched),
        }
        row |= {f"mass at {share:.0%}": mass[round(share * len(mass)) - 1] for share in _AT}
        row["topic's pages at 10%"] = _topical(graph, fetched)
        yield row, way, [mass[place * (len(mass) - 1) // _POINTS] for place in range(_POINTS + 1)]


def _topical(graph: Graph, fetched: Sequence[int]) -> float:
    """Return which share of the pages of the topic is among the first tenth."""
    all_of_them = sum(graph.on_topic[page] for page in fetched)
    return sum(graph.on_topic[page] for page in fetched[: len(fetched) // 10]) / max(all_of_them, 1)


def crawl(graph: Graph, order: Order) -> Iterator[int]:
    """Yield the pages in the order in which they are fetched; links are followed as soon as a page is there."""
    depths = dict.fromkeys(graph.seeds, 0)
    for seed in graph.seeds:
        order.found(seed, seed, 0)
    while (page := order.next()) is not None:
        yield page
        for aim in graph.links[page]:
            if aim in depths:
                order.seen_again(aim)
            else:
                depths[aim] = depths[page] + 1
                order.found(aim, page, depths[aim])


def pagerank(links: Sequence[Sequence[int]], turns: int = 60) -> NDArray[np.float64]:
    """Return the PageRank of all pages, which adds up to 1; a page without links leads to all pages alike."""
    count = len(links)
    source = np.repeat(np.arange(count), [len(one) for one in links])
    target = np.fromiter((aim for one in links for aim in one), np.int64, len(source))
    out = np.maximum(np.bincount(source, minlength=count), 1)
    dangling = np.bincount(source, minlength=count) == 0
    rank = np.full(count, 1 / count)
    for _ in range(turns):
        flow = np.bincount(target, (rank / out)[source], count)
        rank = (1 - _DAMPING + _DAMPING * rank[dangling].sum()) / count + _DAMPING * flow
    return rank


# --- orders


class BreadthFirst:
    """One list for all pages."""

    def __init__(self, graph: Graph) -> None:
        self._waiting: deque[int] = deque()

    def found(self, page: int, on: int, depth: int) -> None:
        """List it at the end."""
        self._waiting.append(page)

    def seen_again(self, page: int) -> None:
        """Change nothing."""

    def next(self) -> int | None:
        """Give the first one."""
        return self._waiting.popleft() if self._waiting else None


class DepthFirst(BreadthFirst):
    """The same, from the other end."""

    def next(self) -> int | None:
        """Give the last one."""
        return self._waiting.pop() if self._waiting else None


class AtRandom:
    """Any page that has been found."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._waiting: list[int] = []

    def found(self, page: int, on: int, depth: int) -> None:
        """List it anywhere."""
        self._waiting.append(page)

    def seen_again(self, page: int) -> None:
        """Change nothing."""

    def next(self) -> int | None:
        """Draw one."""
        waiting = self._waiting
        if not waiting:
            return None
        place = self._random.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        return waiting.pop()


class Best:
    """The page with the highest value, which may grow as links to it are found."""

    def __init__(self, value: Callable[[int, int], float]) -> None:
        """Take the value of a page, by its number and the links to it that have been found."""
        self._value = value
        self._found: defaultdict[int, int] = defaultdict(int)
        self._heap: list[tuple[float, int, int]] = []
        self._fetched: set[int] = set()
        self._count = 0

    def found(self, page: int, on: int, depth: int) -> None:
        """List it by its value."""
        self.seen_again(page)

    def seen_again(self, page: int) -> None:
        """List it by its new value."""
        self._found[page] += 1
        self._count += 1
        if page not in self._fetched:
            heappush(self._heap, (-self._value(page, self._found[page]), self._count, page))

    def next(self) -> int | None:
        """Give the best one; what stands there by an older, lower value is passed over."""
        while self._heap:
            _, _, page = heappop(self._heap)
            if page not in self._fetched:
                self._fetched.add(page)
                return page
        return None


class ByHost:
    """The crawler's own order: each site has its lists, and sites take turns; so many are in work at a time.

    The lists are those of the crawler (`Lane`), a page's place among them is what its link promises (`Topic`). A site
    of which a first page was found is taken up when there is room.
    """

    def __init__(self, graph: Graph, at_once: int, topic: Topic | None = None) -> None:
        self._graph = graph
        self._at_once = at_once
        self._topic = topic
        self._lanes: dict[int, dict[LaneKey, Lane]] = {}
        self._waiting: deque[int] = deque()  # sites that are not in work
        self._working: deque[int] = deque()  # sites that take turns

    def found(self, page: int, on: int, depth: int) -> None:
        """List it in a lane of its site."""
        host = self._graph.hosts[page]
        if host not in self._lanes:
            self._lanes[host] = {}
        if host not in self._working and host not in self._waiting:
            self._waiting.append(host)
        key = priority(self._level(page, on))
        lane = self._lanes[host].get(key)
        if lane is None:
            lane = self._lanes[host][key] = Lane(LaneState(host, key.number, host, 0, 0))
        lane.append(str(page), depth)

    def seen_again(self, page: int) -> None:
        """Change nothing: a URL is listed once."""

    def next(self) -> int | None:
        """Give the first page of the best lane of the site whose turn it is."""
        while self._working or self._waiting:
            while self._waiting and len(self._working) < self._at_once:
                self._working.append(self._waiting.popleft())
            host = self._working.popleft()
            lanes = self._lanes[host]
            for key in sorted(lanes, key=lambda one: one.place):
                entry = lanes[key].peek()
                if entry is not None:
                    lanes[key].finish(lanes[key].take())
                    self._working.append(host)
                    return int(entry.url)
        return None

    def _level(self, page: int, on: int) -> int:
        """Return how much a link promises, by what its text says; one of ten says something else than is there."""
        if self._topic is None:
            return 0
        graph = self._graph
        says = graph.on_topic[page] != ((page * 7 + on * 13) % 10 == 0)
        page_score = self._topic.of_text("lock " * 40 if graph.on_topic[on] else "page " * 40)
        return level_of(self._topic.of_link(f"http://h/{page}", "a lock" if says else "a page", page_score))


OrderOf = Callable[[Graph, NDArray[np.float64], int], Order]
_PARTIES = "breadth-first by host, hosts in turn"
_GLOBAL = "breadth-first, one list"
_RANDOM = "random"
_IDEAL = "by PageRank, known beforehand"
_FOCUSED = "focused on a topic, by host"
ORDERS: dict[str, OrderOf] = {
    _IDEAL: lambda graph, ranks, turn: Best(lambda page, links: float(ranks[page])),
    "by links found so far": lambda graph, ranks, turn: Best(lambda page, links: links),
    _GLOBAL: lambda graph, ranks, turn: BreadthFirst(graph),
    _PARTIES: lambda graph, ranks, turn: ByHost(graph, len(graph.hosts)),
    f"the same, {_HELD} hosts at a time": lambda graph, ranks, turn: ByHost(graph, _HELD),
    _FOCUSED: lambda graph, ranks, turn: ByHost(graph, len(graph.hosts), _TOPIC),
    _RANDOM: lambda graph, ranks, turn: AtRandom(turn),
    "depth-first": lambda graph, ranks, turn: DepthFirst(graph),
}


# --- webs


class _Host(NamedTuple):
    """The pages of a host so far, and the aims of links to it, so that a draw of them favours who has many."""

    pages: list[int]
    aims: list[int]


def scale_free(pages: int, seed: int) -> Graph:
    """Return a web that grows: new pages lead to pages by the links that these have (Kumar et al. 2000, copying).

    Each new page is linked from one of its host, or, as its first page, from somewhere; so all can be reached.
    In-degrees follow a power law, and three quarters of the links lead to the own host.
    """
    rng = Random(seed)
    hosts: list[int] = []
    links: list[list[int]] = []
    own: list[_Host] = []
    everywhere = _Host([], [])
    for page in range(pages):
        host = len(own) if page < _FIRST_HOSTS or rng.random() < 0.01 else hosts[rng.randrange(page)]
        if host == len(own):
            own.append(_Host([], []))
        before = own[host] if own[host].pages else everywhere
        hosts.append(host)
        links.append([])
        if page >= _FIRST_HOSTS:
            links[rng.choice(before.pages)].append(page)
        for _ in range(_LINKS if page else 0):
            among = own[host] if own[host].pages and rng.random() < _INSIDE else everywhere
            aim = _copied(rng, among)
            links[page].append(aim)
            own[hosts[aim]].aims.append(aim)
            everywhere.aims.append(aim)
        own[host].pages.append(page)
        everywhere.pages.append(page)
    topical = [rng.random() < 0.1 for _ in own]
    on_topic = [topical[host] != (rng.random() < 0.05) for host in hosts]
    return Graph("scale-free", hosts, links, range(min(_FIRST_HOSTS, pages)), on_topic)


def _copied(rng: Random, among: _Host) -> int:
    """Draw any page, or one that a link leads to, by the number of links."""
    return rng.choice(among.aims if among.aims and rng.random() < 0.7 else among.pages)


def synthetic(pages: int, seed: int) -> Graph:
    """Return the pages and links of the synthetic web that the tests crawl, redirects and files left out."""
    web = SyntheticWeb(WebSpec(seed=seed, sites=max(pages // 100, 2), mean_pages=100, alias_every=0, hidden=0.0))
    sizes = [web.site(site).pages for site in range(web.spec.sites)]
    first = list(accumulate(sizes, initial=0))
    hosts = [site for site, size in enumerate(sizes) for _ in range(size)]
    links = []
    for page, site in enumerate(hosts):
        aims = (link.target for link in web.links(web.site(site), page - first[site]))
        links.append([first[aim.site] + aim.number for aim in aims if aim.kind is Kind.PAGE])
    rng = Random(seed)
    topical = [rng.random() < 0.1 for _ in sizes]
    on_topic = [topical[site] != (rng.random() < 0.05) for site in hosts]
    return Graph("synthetic", hosts, links, first[:_FIRST_HOSTS], on_topic)


# --- the report


def report(rows: Sequence[Row], curves: dict[tuple[str, str], list[float]]) -> Report:
    """Put together what was found."""
    webs = list(dict.fromkeys(web for web, _ in curves))
    xs = [100 * point / _POINTS for point in range(_POINTS + 1)]
    panels = [
        Panel(
            f"{web} web",
            "% of the pages fetched",
            "% of the PageRank",
            [Line(way, xs, [100 * one for one in curves[web, way]], bold=way == _PARTIES) for way in ORDERS],
        )
        for web in webs
    ]
    return Report(
        "quality",
        "PageRank by the order of a crawl",
        "order",
        rows,
        notes=_notes(),
        claims=[claim for web in webs for claim in _claims(rows, web)],
        plots=[Plot("PageRank over the pages fetched", panels)],
        series={"curves": _series(webs, xs, curves)},
    )


def _series(webs: Sequence[str], xs: Sequence[float], curves: dict[tuple[str, str], list[float]]) -> list[Row]:
    return [
        {"web": web, "pages, %": x, **{way: curves[web, way][point] for way in ORDERS}}
        for web in webs
        for point, x in enumerate(xs)
    ]


def _claims(rows: Sequence[Row], web: str) -> list[Claim]:
    column = "mass at 10%"

    def mean(way: str, of: str = column) -> float:
        own = [number(row, of) for row in rows if row["order"] == f"{web}: {way}"]
        return sum(own) / len(own)

    paper = "paper 001, section 3.1.2"
    claims = [
        Claim(
            f"{web}: PageRank in the first 10% of the pages, {way}, %",
            paper,
            "high quality pages early on",
            f"{100 * mean(way):.0f} (random {100 * mean(_RANDOM):.0f}, ranks known {100 * mean(_IDEAL):.0f})",
        )
        for way in (_PARTIES, _GLOBAL)
    ]
    topical = "topic's pages at 10%"
    early = f"{100 * mean(_FOCUSED, topical):.0f} against {100 * mean(_PARTIES, topical):.0f} without a topic"
    claims.append(Claim(f"{web}: the topic's pages in the first 10%, focused, %", "no goal", "-", early))
    return claims


def _notes() -> list[str]:
    return [
        "Simulated: a page is fetched at a time, and its links are known at once. By host: each site has the crawler's"
        " own lists (Lane), in the order of their levels, and sites take turns, as politeness makes them do. External"
        " links are followed, as in the mode exchange. Mass is that of the pages fetched over all that can be reached.",
        f"scale-free: {_LINKS} links a page, {_INSIDE:.0%} of them to the own host, aims copied from other links;"
        " synthetic: the links of the web that the tests crawl, which favour pages of low numbers.",
        "by PageRank, known beforehand: the best of those found so far; no crawler can know it. by links found so far:"
        " Cho, Garcia-Molina, Page 1998, backlink count. The topic has a tenth of the hosts; a tenth of the links says"
        " something else than what is there.",
    ]


if __name__ == "__main__":
    main()
