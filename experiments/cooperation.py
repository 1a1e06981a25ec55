"""What it costs to keep a copy of a site fresh, by how much its server tells of its changes.

python -m experiments.cooperation
"""

from __future__ import annotations

import gzip
import hashlib
import os
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import import_command, run_command
from scrawler.features.serving.app import SiteApp
from scrawler.features.serving.catalogue import CHANGES, Catalogue
from scrawler.features.serving.folder import Folder
from scrawler.features.serving.lists import Lists
from scrawler.features.serving.scanner import Scanner
from scrawler.features.serving.server import Limits, make_server
from scrawler.features.serving.site import Site
from scrawler.features.synthweb.changes import DAY_S, Changes
from scrawler.features.synthweb.spec import WebSpec

_HOUR_S = 3_600.0
_PAGE_BYTES = 8_000
_PING_S = 3.0  # from a change to the visit that a ping brings
_AUDIT_S = 7 * DAY_S * 20  # a page is due each week, and one visit in twenty that could be spared is made
_AUDITS = 1 / _AUDIT_S
_POLLED_S = [DAY_S * days for days in (0.04, 0.125, 0.25, 0.5, 1, 2, 4, 7, 14, 30)]


class Sizes(NamedTuple):
    """Bytes of answers with their requests, as measured on a site that is served."""

    page: float  # whole
    unchanged: float  # 304
    per_resource: float  # of a sitemap, packed
    per_change: float  # of a change list, packed
    per_list: float  # of an index of change lists, packed
    head: float  # of a list without an entry


class Traffic(NamedTuple):
    """What a way has cost, and how fresh the copy was."""

    requests: float
    sent: float  # bytes
    useless: float  # visits that found a page as it was
    freshness: float
    pings: float = 0.0


@experiment
@click.option("--pages", default=2_000, show_default=True, help="Pages in virtual time.")
@click.option("--days", default=180, show_default=True, help="Virtual days.")
@click.option("--rounds", default=6, show_default=True, help="Rounds of the real crawls.")
@click.option("--files", default=300, show_default=True, help="Pages of the real crawls.")
def main(quick: bool, results: Path, pages: int, days: int, rounds: int, files: int) -> None:
    """How much less is asked of a site that tells of its changes?"""
    if quick:
        pages, days, rounds, files = 200, 30, 2, 40
    with TemporaryDirectory() as folder:
        crawled = list(crawl_all(Path(folder), files, rounds))
        sizes = measured_sizes(Path(folder), crawled)
    for row in crawled:
        click.echo(row_text(row))
    web = [
        Changes(WebSpec(changes=0.1, still=0.3)).of(page // 200, page % 200).between(0, days * DAY_S)
        for page in range(pages)
    ]
    arms = simulate(web, days * DAY_S, sizes)
    rows = [_row(name, one, web, days) for name, one in arms.items()]
    equal = [
        equal_row(name, one, web, days * DAY_S, sizes)
        for name, one in arms.items()
        if not name.startswith("polling") and name != "pings"
    ]
    for row in (*rows, *equal):
        click.echo(row_text(row))
    write_report(report(rows, equal, crawled, sizes, web, days), results)


# --- in virtual time


def simulate(web: Sequence[Sequence[float]], over_s: float, sizes: Sizes) -> dict[str, Traffic]:
    """Return what each way costs over a time; `web` has the times of each page's changes."""
    found: dict[str, Traffic] = {}
    for days in (1, 7):
        every = days * DAY_S
        found[f"polling each {days} d, whole pages"] = polling(web, over_s, every, sizes.page, sizes.page)
        found[f"polling each {days} d, conditional"] = polling(web, over_s, every, sizes.page, sizes.unchanged)
    found["sitemap each 24 h"] = by_list(web, over_s, DAY_S, sizes, sitemap_cost)
    found["sitemap each hour"] = by_list(web, over_s, _HOUR_S, sizes, sitemap_cost)
    found["ResourceSync each 24 h"] = audited(by_list(web, over_s, DAY_S, sizes, changes_cost), web, over_s, sizes)
    found["ResourceSync each hour"] = audited(by_list(web, over_s, _HOUR_S, sizes, changes_cost), web, over_s, sizes)
    found["pings"] = pinged(web, over_s, sizes)
    return found


def polling(web: Sequence[Sequence[float]], over_s: float, every: float, changed: float, same: float) -> Traffic:
    """Visit each page at equal times; the pages are spread evenly over them."""
    visits = useful = fresh = 0.0
    for index, times in enumerate(web):
        phase = every * (index + 0.5) / len(web)
        moments = [phase + every * (max(0, -(-(time_ - phase) // every))) for time_ in times]
        useful += len(set(moments))
        visits += over_s / every
        fresh += _fresh(times, moments, over_s)
    useless = max(0.0, visits - useful)
    return Traffic(visits, useful * changed + useless * same, useless, fresh / len(web))


def by_list(
    web: Sequence[Sequence[float]],
    over_s: float,
    every: float,
    sizes: Sizes,
    cost: Callable[[Sequence[Sequence[float]], Sequence[int], Sizes], tuple[float, float]],
) -> Traffic:
    """Read a list at equal times, and visit what it names as changed."""
    reads = int(over_s / every)
    moments = [[every * -(-time_ // every) for time_ in times] for times in web]
    useful = sum(len(set(one)) for one in moments)
    named = [0] * (reads + 2)
    for times in web:
        for time_ in times:
            named[min(reads + 1, int(-(-time_ // every)))] += 1
    requests, sent = cost(web, named[1 : reads + 1], sizes)
    fresh = fmean(_fresh(times, at, over_s) for times, at in zip(web, moments, strict=True))
    return Traffic(requests + useful, sent + useful * sizes.page, 0.0, fresh)


def sitemap_cost(web: Sequence[Sequence[float]], named: Sequence[int], sizes: Sizes) -> tuple[float, float]:
    """Return requests and bytes of reading a sitemap each time: it is whole, or as it was."""
    whole = sizes.head + sizes.per_resource * len(web)
    return float(len(named)), sum(whole if number_of else sizes.unchanged for number_of in named)


def changes_cost(web: Sequence[Sequence[float]], named: Sequence[int], sizes: Sizes) -> tuple[float, float]:
    """Return requests and bytes of reading change lists: their index, if there is one, and those that are not over."""
    requests, sent, before = 0, 0.0, 0
    for number_of in named:
        now = before + number_of
        has_index = now > CHANGES
        lists = range(before // CHANGES, max(0, now - 1) // CHANGES + 1)
        requests += len(lists) + has_index
        if number_of:
            entries = (now - one * CHANGES if one == lists[-1] else CHANGES for one in lists)
            sent += sum(sizes.head + sizes.per_change * count for count in entries)
            sent += (sizes.head + sizes.per_list * (now // CHANGES + 1)) * has_index
        else:
            sent += sizes.unchanged * (len(lists) + has_index)
        before = now
    return float(requests), sent


def audited(traffic: Traffic, web: Sequence[Sequence[float]], over_s: float, sizes: Sizes) -> Traffic:
    """Add the visits that are made to see whether the lists are true."""
    audits = len(web) * over_s * _AUDITS
    return traffic._replace(
        requests=traffic.requests + audits, sent=traffic.sent + audits * sizes.unchanged, useless=audits
    )


def pinged(web: Sequence[Sequence[float]], over_s: float, sizes: Sizes) -> Traffic:
    """Visit each page right after each of its changes: that is what is due now by a ping."""
    moments = [[time_ + _PING_S for time_ in times] for times in web]
    changes = sum(map(len, web))
    fresh = fmean(_fresh(times, at, over_s) for times, at in zip(web, moments, strict=True))
    return Traffic(float(changes), changes * sizes.page, 0.0, fresh, float(changes))


def _fresh(times: Sequence[float], seen_at: Sequence[float], over_s: float) -> float:
    """Return the share of time in which a copy is as the page is; each change is seen at a time not before it."""
    stale, until = 0.0, 0.0
    for changed, seen in zip(times, seen_at, strict=True):
        end = min(seen, over_s)
        stale += max(0.0, end - max(changed, until))
        until = max(until, end)
    return 1 - stale / over_s


def equal_row(name: str, one: Traffic, web: Sequence[Sequence[float]], over_s: float, sizes: Sizes) -> Row:
    """Hold a way against conditional polling that is as fresh, and against such that asks as often."""
    low, high = 1.0, 365 * DAY_S
    for _ in range(40):
        every = (low * high) ** 0.5
        if polling(web, over_s, every, sizes.page, sizes.unchanged).freshness >= one.freshness:
            low = every
        else:
            high = every
    as_fresh = polling(web, over_s, low, sizes.page, sizes.unchanged)
    as_often = polling(web, over_s, len(web) * over_s / one.requests, sizes.page, sizes.unchanged)
    return {
        "way": name,
        "freshness": one.freshness,
        "polling as fresh: each, h": low / _HOUR_S,
        "... requests, times": as_fresh.requests / one.requests,
        "... bytes, times": as_fresh.sent / one.sent,
        "polling with as many requests: freshness": as_often.freshness,
        "... of them useless, %": 100 * as_often.useless / as_often.requests,
    }


def _row(name: str, one: Traffic, web: Sequence[Sequence[float]], days: int) -> Row:
    page_days = len(web) * days / 1_000
    return {
        "way": name,
        "requests a day and 1,000 pages": one.requests / page_days,
        "MB a day and 1,000 pages": one.sent / page_days / 1e6,
        "useless visits, %": 100 * one.useless / one.requests,
        "pings a day and 1,000 pages": one.pings / page_days,
        "freshness": one.freshness,
    }


# --- real crawls


class Counting:
    """An application that counts what goes through it; with `plain`, no answer can be asked for by its date or tag."""

    def __init__(self, app: Any, *, plain: bool) -> None:
        self._app = app
        self._plain = plain
        self._lock = threading.Lock()
        self.requests = 0
        self.sent = 0
        self.unchanged = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        asked = sum(len(name) + len(value) + 4 for name, value in scope.get("headers", ())) + len(scope["path"]) + 15

        async def counted(message: Any) -> None:
            size = len(message.get("body", b""))
            if message["type"] == "http.response.start":
                if self._plain:
                    message["headers"] = [
                        one for one in message["headers"] if one[0] not in (b"etag", b"last-modified")
                    ]
                size = 19 + sum(len(name) + len(value) + 4 for name, value in message["headers"])
                with self._lock:
                    self.requests += 1
                    self.unchanged += message["status"] == 304
            with self._lock:
                self.sent += size
            await send(message)

        with self._lock:
            self.sent += asked
        await self._app(scope, receive, counted)


@contextmanager
def served(folder: Path, state: Path, *, plain: bool) -> Iterator[tuple[str, Scanner, Counting]]:
    """Serve a folder; yields its URL, what scans it, and what counts."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with closing(Folder(folder)) as files:
        catalogue = Catalogue(state)
        app = SiteApp(Site(base, catalogue, files, None, None, 1 << 20), None, None).starlette()
        counting = Counting(app, plain=plain)
        ready = threading.Event()
        server = make_server(counting, tls=None, limits=Limits(each=100), ready=lambda _port: ready.set())
        thread = threading.Thread(target=server.run, args=([listener],), name="site")
        thread.start()
        try:
            ready.wait()
            yield base, Scanner(catalogue, files), counting
        finally:
            server.should_exit = True
            thread.join()


_WAYS = {"whole pages": "off", "conditional": "off", "ResourceSync": "told"}


def crawl_all(folder: Path, files: int, rounds: int) -> Iterator[Row]:
    """Crawl the same site, which changes in the same way, by each way; a row for all rounds after the first one."""
    for way, setting in _WAYS.items():
        own = folder / way.replace(" ", "-")
        site, crawl = own / "site", own / "crawl"
        site.mkdir(parents=True)
        crawl.mkdir()
        web = Changes(WebSpec(changes=0.1, still=0.3))
        write_site(site, files)
        with served(site, own / "state.db", plain=way == "whole pages") as (base, scanner, counting):
            scanner.scan(threading.Event())
            (crawl / "seeds.txt").write_text(base)
            run(import_command(Path("seeds.txt")), crawl)
            run(run_command(resourcesync=setting), crawl)
            first = counting.requests, counting.sent, counting.unchanged
            changed = 0
            for day in range(rounds):
                changed += change_site(site, web, files, day)
                scanner.scan(threading.Event())
                run([*run_command(resourcesync=setting), "--again"], crawl)
            requests, sent, unchanged = (
                now - before
                for now, before in zip((counting.requests, counting.sent, counting.unchanged), first, strict=True)
            )
        yield {
            "way": way,
            "pages": files,
            "rounds": rounds,
            "pages changed": changed,
            "requests": requests,
            "304": unchanged,
            "MB": sent / 1e6,
            "fresh in the end, %": 100 * fresh_share(crawl, site, files),
        }


def run(command: list[str], folder: Path) -> None:
    """Run a command to its end, without a word."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def write_site(site: Path, files: int) -> None:
    """Write a home page that leads to all others, and those, as of an hour ago."""
    links = "".join(f'<a href="{_name(number)}">{number}</a> ' for number in range(files))
    head = '<html><head><link rel="resourcesync" href="/resourcesync/capabilitylist.xml"></head>'
    (site / "index.html").write_text(f"{head}<body>{links}")
    for number_of in range(files):
        (site / _name(number_of)).write_text(_text(number_of, 0))
    ago = time.time() - _HOUR_S
    for index, file in enumerate(sorted(site.iterdir())):
        os.utime(file, (ago - 977 * index, ago - 977 * index))


def change_site(site: Path, web: Changes, files: int, day: int) -> int:
    """Write anew what changes within a virtual day; return how many pages that are."""
    changed = [page for page in range(files) if web.of(page // 200, page % 200).between(day * DAY_S, (day + 1) * DAY_S)]
    for page in changed:
        (site / _name(page)).write_text(_text(page, day + 1))
    return len(changed)


def _name(page: int) -> str:
    """Return the name of a page's file, which a list cannot pack with those of others."""
    return f"{hashlib.sha1(str(page).encode()).hexdigest()[:12]}.html"


def _text(page: int, version: int) -> str:
    words = " ".join(f"word{(page * 7919 + version * 104_729 + index * 31) % 9_973}" for index in range(1_000))
    return f"<html><body><p>page {page}, version {version}: {words[:_PAGE_BYTES]}"


def fresh_share(crawl: Path, site: Path, files: int) -> float:
    """Return the share of pages of which the crawl has what the site has now, by the digests in its database."""
    with closing(sqlite3.connect(crawl / "scrawler.db")) as connection:
        rows = connection.execute("SELECT url, digest FROM page WHERE result = 'fetched' ORDER BY id").fetchall()
    newest = {url.rsplit("/", 1)[-1]: bytes(digest) for url, digest in rows}
    names = [_name(number) for number in range(files)]
    return fmean(newest.get(name) == hashlib.sha1((site / name).read_bytes()).digest() for name in names)


def measured_sizes(folder: Path, crawled: Sequence[Row]) -> Sizes:
    """Measure what lists take, packed, on the sites that were served, and heads by what conditional requests cost."""
    state = folder / "ResourceSync" / "state.db"
    catalogue = Catalogue(state)
    lists = Lists(catalogue, "https://www.example.org/")
    resources, changes = catalogue.resource_pages(), catalogue.change_pages()
    since = catalogue.state().since
    packed = {
        "empty": _packed(lists.change_list([], since)),
        "resources": _packed(lists.sitemap(resources)),
        "changes": _packed(lists.change_list(changes[:1], since)),
        "index": _packed(lists.change_list(changes[:1] * 21, since)),
    }
    (row,) = (row for row in crawled if row["way"] == "conditional")
    bodies = (number(row, "requests") - number(row, "304")) * _PAGE_BYTES
    heads = (number(row, "MB") * 1e6 - bodies) / number(row, "requests")
    return Sizes(
        page=_PAGE_BYTES + heads,
        unchanged=heads,
        per_resource=(packed["resources"] - packed["empty"]) / max(1, resources[0].count),
        per_change=(packed["changes"] - packed["empty"]) / max(1, changes[0].count),
        per_list=(packed["index"] - packed["empty"]) / 21,
        head=packed["empty"] + heads,
    )


def _packed(pieces: Iterator[str]) -> int:
    return len(gzip.compress("".join(pieces).encode(), 6))


# --- what came of it


def report(
    rows: Sequence[Row],
    equal: Sequence[Row],
    crawled: Sequence[Row],
    sizes: Sizes,
    web: Sequence[Sequence[float]],
    days: int,
) -> Report:
    """Put together what was found."""
    by_way = {str(row["way"]): row for row in (*rows, *crawled)}
    told, polled = by_way["ResourceSync"], by_way["conditional"]
    hourly = next(row for row in equal if row["way"] == "ResourceSync each hour")
    curve = [polling(web, days * DAY_S, every, sizes.page, sizes.unchanged) for every in _POLLED_S]
    page_days = len(web) * days / 1_000
    lines = [
        Line(
            "polling, conditional",
            [one.requests / page_days for one in curve],
            [100 * one.freshness for one in curve],
        )
    ]
    lines += [
        Line(
            str(row["way"]),
            [number(row, "requests a day and 1,000 pages")],
            [100 * number(row, "freshness")],
            points=True,
        )
        for row in rows
        if not str(row["way"]).startswith("polling")
    ]
    return Report(
        "cooperation",
        "What servers that cooperate save",
        "way",
        rows,
        notes=[
            f"In virtual time: {len(web):,} pages of {_PAGE_BYTES:,} bytes over {days} days, three in ten of which"
            " never change, the others by Poisson processes of 0.1 changes a day in the mean (lognormal rates).",
            f"Sizes of lists are measured, packed, on what `serve-site` writes: {sizes.per_resource:.0f} bytes a"
            f" resource of a sitemap, {sizes.per_change:.0f} a change of a change list. Requests"
            " and their heads are counted.",
            "ResourceSync: with the visits that are made to see whether the lists are true, one in twenty of those"
            " that would be due each week. Pings: each change is visited three seconds later; to receive them is not"
            " counted.",
            "Crawled for real: the same site, changed in the same way between rounds, by `scrawler run --again`. Bytes"
            " are those of heads and bodies as the server sees them. Rounds follow each other within seconds: what has"
            " changed within the minute before its last visit is asked for once more, as clocks may differ.",
        ],
        claims=[
            Claim(
                "requests, crawled: conditional against ResourceSync",
                "our goal",
                "less with lists",
                f"{number(polled, 'requests') / number(told, 'requests'):.1f} times",
            ),
            Claim(
                "requests of conditional polling that is as fresh as ResourceSync each hour",
                "001, section 1.2 (useless polls)",
                "reduced by cooperation",
                f"{number(hourly, '... requests, times'):.1f} times",
            ),
        ],
        plots=[
            Plot(
                "Freshness over requests",
                [Panel("", "requests a day and 1,000 pages", "fresh, %", lines, log_x=True, from_zero=False)],
            )
        ],
        tables={"Held against conditional polling": list(equal), "Crawled for real": list(crawled)},
    )


if __name__ == "__main__":
    main()
