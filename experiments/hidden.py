"""What share of a shop's rows is found through its search, by how terms are chosen, against the queries that it costs.

python -m experiments.hidden
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import import_seeds
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, fresh_folder, run_measured
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE, run_command
from scrawler.extract.visible import visible_text
from scrawler.features.hidden.forms import SearchForm, search_forms
from scrawler.features.hidden.probing import Next, Probing, Stop
from scrawler.features.synthweb.process import WebProcess
from scrawler.features.synthweb.shop import Shop
from scrawler.features.synthweb.shop_server import shop_home

_SITE = "http://shop.test"
_ITEM = re.compile(r'href="(/item/\d+)"')
_FOLLOWING = re.compile(r'rel="next" href="([^"]+)"')
_WORD = re.compile(r"[^\W\d_]{3,30}")
_AT = (50, 100, 200)  # queries at which the share is told

Chooser = Callable[[Probing, Sequence[str], Random], Next]


@experiment
@click.option("--rounds", default=3, show_default=True, help="Shops.")
@click.option("--rows", "size", default=5_000, show_default=True, help="Rows of each shop.")
@click.option("--queries", default=400, show_default=True, help="The most that are asked.")
def main(quick: bool, results: Path, rounds: int, size: int, queries: int) -> None:
    """Which share of what stands behind a search is found by so many queries?"""
    if quick:
        rounds, size, queries = 1, 500, 60
    rows: list[Row] = []
    curves: dict[str, list[tuple[int, float]]] = {}
    for turn in range(1, rounds + 1):
        shop = Shop(turn, size)
        for way, choose in WAYS.items():
            found = list(probe(shop, choose, queries, Random(turn)))
            rows.append(_row(way, turn, found, size))
            click.echo(row_text(rows[-1]))
            curves.setdefault(way, [(asked, share) for asked, _, share in found])
        found = crawled(turn, size, queries)
        rows.append(_row(_CRAWL, turn, found, size))
        click.echo(row_text(rows[-1]))
        curves.setdefault(_CRAWL, [(asked, share) for asked, _, share in found])
    write_report(report(rows, curves, size), results)


def probe(shop: Shop, choose: Chooser, queries: int, rng: Random) -> Iterator[tuple[int, int, float]]:
    """Ask a shop for terms until there is enough; yields queries, requests and the share of rows found, so far."""
    home = shop.answer("/").body
    (form,) = search_forms(home, f"{_SITE}/")
    probing, requests, known = Probing(queries), 1, list[str]()
    found = set(_ITEM.findall(home.decode()))
    for item in sorted(found):
        _read(shop, item, probing, known)
    requests += len(found)
    asked = 0
    while (step := choose(probing, known, rng)).stop is None:
        results, pages, cut_off = _ask(shop, form, step.term)
        new = sorted(results - found)
        for item in new:
            _read(shop, item, probing, known)
        found |= results
        requests += pages + len(new)
        asked += 1
        probing.answered(step.term, len(results), len(new), cut_off)
        yield asked, requests, len(found) / len(shop.rows)


def crawled(turn: int, size: int, queries: int) -> list[tuple[int, int, float]]:
    """Let SCrawler crawl a shop that is served; return what `probe` yields, by its database."""
    with WebProcess("--shop", f"--rows={size}", f"--seed={turn}", "--port=0") as web, fresh_folder("hidden") as folder:
        (folder / "seeds.txt").write_text(shop_home(web.port) + "\n")
        import_seeds(folder, folder / "seeds.txt")
        command = run_command(hidden=True, hidden_queries=queries, export=False)
        figures = run_measured(command, folder, _TIMEOUT)
        if figures.exit_code or figures.timed_out:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        return list(_told(folder / DATABASE, size))


def _told(database: Path, size: int) -> Iterator[tuple[int, int, float]]:
    with closing(sqlite3.connect(database)) as connection:
        linked = connection.execute("SELECT COUNT(*) FROM page WHERE depth = 1 AND url LIKE '%/item/%'").fetchone()[0]
        asked = connection.execute("SELECT number, answers, found FROM search_query ORDER BY number")
        found, requests = linked, linked + 1
        for number, answers, new in asked:
            found += new
            requests += answers + new
            yield number, requests, found / size


def _ask(shop: Shop, form: SearchForm, term: str) -> tuple[set[str], int, bool]:
    """Return the rows that a term shows on all pages of results, how many these are, and whether there are more."""
    url: str | None = form.url(term)
    results, pages, text = set[str](), 0, ""
    while url is not None:
        split = urlsplit(url)
        text = shop.answer(f"{split.path}?{split.query}").body.decode()
        results |= set(_ITEM.findall(text))
        pages += 1
        following = _FOLLOWING.search(text)
        url = following[1].replace("&amp;", "&") if following else None
    said = re.search(r"(\d+) results", text)
    return results, pages, said is not None and int(said[1]) > len(results)


def _read(shop: Shop, item: str, probing: Probing, known: list[str]) -> None:
    text = visible_text(shop.answer(item).body, "text/html", "") or ""
    probing.read(text)
    known.append(text)


def _informative(probing: Probing, known: Sequence[str], rng: Random) -> Next:
    return probing.next()


def _at_random(probing: Probing, known: Sequence[str], rng: Random) -> Next:
    """Draw a word of a page that has been found; budget and end are those of the other way."""
    step = probing.next()
    return step if step.stop is not None else Next(rng.choice(_WORD.findall(rng.choice(known))), 0.0)


def _first_pages(probing: Probing, known: Sequence[str], rng: Random) -> Next:
    """Take the words of the pages to which links lead, one after the other, as who has a fixed list of terms."""
    step = probing.next()
    words = list(dict.fromkeys(word for text in known[:20] for word in _WORD.findall(text)))
    asked = probing.asked - 1
    return step if step.stop is not None or asked >= len(words) else Next(words[asked], 0.0)


_CRAWL = "SCrawler's own crawl"
_TIMEOUT = 600.0
_INFORMATIVE = "most new pages expected"
WAYS: dict[str, Chooser] = {
    _INFORMATIVE: _informative,
    "words at random": _at_random,
    "words of the first pages": _first_pages,
}


def _row(way: str, turn: int, found: Sequence[tuple[int, int, float]], size: int) -> Row:
    asked, requests, share = found[-1]
    row: dict[str, str | int | float] = {"terms": way, ROUND: turn, "rows": size, "queries": asked}
    row |= {f"% found by {at} queries": 100 * found[min(at, len(found)) - 1][2] for at in _AT}
    return row | {"% found in the end": 100 * share, "requests a row": requests / max(share * size, 1)}


def report(rows: Sequence[Row], curves: dict[str, list[tuple[int, float]]], size: int) -> Report:
    """Put together what was found."""
    lines = [
        Line(way, [asked for asked, _ in curve], [100 * share for _, share in curve], bold=way == _INFORMATIVE)
        for way, curve in curves.items()
    ]
    return Report(
        "hidden",
        "What is found behind a search",
        "terms",
        rows,
        notes=[
            f"A shop of {size:,} rows of some 20 words, ten of which links lead to; an answer shows 20 rows a page, and"
            " 100 at most, in an order that is the same for all terms. The form is recognised in the home page.",
            f"It ends when of the results of ten answers less than 2 % are new ({Stop.REPEATS}), or by the budget.",
            "words at random: of any page found so far; words of the first pages: of those to which links lead, in"
            " their order. Requests are those for results and rows.",
            "SCrawler's own crawl: `scrawler run --hidden` of the same shop, served; what it found is read from its"
            " database. It knows neither what a row's URL looks like, nor how many results there are.",
        ],
        claims=[_claim(rows, way) for way in (_INFORMATIVE, _CRAWL)],
        plots=[Plot("Rows found over queries", [Panel("share of a shop's rows", "queries", "% of the rows", lines)])],
        series={"curves": list(_series(curves))},
    )


def _claim(rows: Sequence[Row], way: str) -> Claim:
    best = [number(row, "% found in the end") for row in rows if row["terms"] == way]
    asked = [number(row, "queries") for row in rows if row["terms"] == way]
    return Claim(
        f"rows found, %: {way}",
        "Ntoulas, Zerfos, Cho 2005",
        "more than 90 by fewer than 100 queries, on one site",
        f"{min(best):.0f} to {max(best):.0f} by {min(asked):.0f} to {max(asked):.0f}",
    )


def _series(curves: dict[str, list[tuple[int, float]]]) -> Iterator[Row]:
    for way, curve in curves.items():
        for asked, share in curve:
            yield {"terms": way, "queries": asked, "% found": 100 * share}


if __name__ == "__main__":
    main()
