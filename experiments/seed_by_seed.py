"""Seed by seed against site by site: what is found, and what two machines fetch twice (paper 004, section 3.1).

python -m experiments.seed_by_seed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import crawled
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, row_text, write_report
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target

_TIMEOUT = 300.0
DOORS = "doors"  # seeds: the home page, a page of each part that it does not lead to, then any
DRAWN = "drawn"  # seeds: the home page, then pages drawn at random from all of the site
ONE_DATABASE = "one database"  # two machines share the crawl; a site is with one of them
SITES_SPLIT = "sites split"  # two crawls that know nothing of each other, each with all seeds of half of the sites
KILLED = f"killed after {_TIMEOUT:g} s"  # column: crawls
SEEDS_SPLIT = "seeds split"  # the same, each with half of the seeds of every site

Seeds = Sequence[Sequence[str]]  # by site


@dataclass(frozen=True, slots=True)
class Scale:
    """The web, how many seeds a site are tried, how many of them with two machines, and in which ways."""

    spec: WebSpec
    seeds_alone: tuple[int, ...]
    seeds_together: tuple[int, ...]
    together: tuple[str, ...]


FULL = Scale(
    WebSpec(sites=60, mean_pages=50, max_pages=500, hidden=0.2, alias_every=0, page_bytes=4_000, links=10),
    (1, 2, 3, 5, 10, 20),
    (2, 3, 5, 10),
    (ONE_DATABASE, SITES_SPLIT, SEEDS_SPLIT),
)
QUICK = Scale(
    WebSpec(sites=8, mean_pages=20, max_pages=60, hidden=0.25, alias_every=0, page_bytes=2_000, links=8),
    (1, 3),
    (3,),
    (ONE_DATABASE, SEEDS_SPLIT),
)


@experiment
def main(quick: bool, results: Path) -> None:
    """What do several seeds a site find that one home page does not, and do two machines fetch pages twice?"""
    scale = QUICK if quick else FULL
    rows: list[Row] = []
    with SynthServer(scale.spec) as web:
        for kind, count in [(kind, count) for kind in (DOORS, DRAWN) for count in scale.seeds_alone]:
            if kind == DOORS or count > 1:  # the first one is the home page in either case
                rows.append(_measure(web, kind, count, [seeds_of(web.web, kind, count)], machines=1))
        for count in scale.seeds_together:
            seeds = seeds_of(web.web, DRAWN, count)
            for way in scale.together:
                rows.append(_measure(web, way, count, crawls_of(way, seeds), machines=1 + (way == ONE_DATABASE)))
    write_report(report(rows, scale), results)


def pages_of(web: SyntheticWeb, site: int) -> list[str]:
    """Return the URLs of all pages of a site that its robots.txt allows."""
    layout = web.site(site)
    allowed = (page for page in range(layout.pages) if not (layout.disallows_private and layout.private(page)))
    return [web.url(Target(site, Kind.PAGE, page)) for page in allowed]


def seeds_of(web: SyntheticWeb, kind: str, count: int) -> list[list[str]]:
    """Return up to `count` seeds of each site; with more of them, the same ones and others."""
    if kind == DOORS:
        return [web.seeds_of(site, count) for site in range(web.spec.sites)]
    seeds = []
    for site in range(web.spec.sites):
        home, *others = pages_of(web, site)
        Random(f"{web.spec.seed}/{site}").shuffle(others)
        seeds.append([home, *others[: count - 1]])
    return seeds


def crawls_of(way: str, seeds: Seeds) -> list[Seeds]:
    """Divide the seeds among crawls that know nothing of each other."""
    if way == SITES_SPLIT:
        return [seeds[::2], seeds[1::2]]
    if way == SEEDS_SPLIT:
        return [[of_site[::2] for of_site in seeds], [of_site[1::2] for of_site in seeds]]
    return [seeds]


def _measure(web: SynthServer, arm: str, count: int, crawls: Sequence[Seeds], machines: int) -> Row:
    """Run the crawls of an arm, and hold what they fetched against the truth."""
    lists = [[url for of_site in seeds for url in of_site] for seeds in crawls]
    fetched: Counter[str] = Counter()
    killed = 0
    for urls in lists:
        with crawled(web, urls, timeout=_TIMEOUT, machines=machines, threads=5, export=False) as crawl:
            fetched.update(line.url for line in crawl.pages)
            killed += crawl.figures.timed_out
    known = {url for urls in lists for url in urls}
    everything = {url for site in range(web.web.spec.sites) for url in pages_of(web.web, site)}
    figures = account(fetched, everything, (party(web.web, url).pages for url in known))
    row: Row = {
        "arm": f"{arm}, {count}",
        "way": arm,
        "seeds a site": count,
        "seeds": len(known),
        **figures,
        KILLED: killed,
    }
    click.echo(row_text(row))
    return row


def account(fetched: Counter[str], everything: set[str], parties: Iterable[set[str]]) -> dict[str, int | float]:
    """Count what was fetched against all pages, and against the parties of the seeds, which are what must be found.

    Overlap is (N - I) / I of N pages fetched, I of them different (Cho, Garcia-Molina 2002).
    """
    found = everything & set(fetched)
    total = sum(fetched[url] for url in found)
    return {
        "pages found": len(found),
        "found %": 100 * len(found) / len(everything),
        "not as the truth says": len(found ^ set().union(*parties)),
        "pages fetched": total,
        "overlap %": 100 * (total - len(found)) / max(len(found), 1),
    }


# --- what it says ---------------------------------------------------------------------------------------------------


def report(rows: Sequence[Row], scale: Scale) -> Report:
    """Return the report of all crawls."""
    return Report(
        "seed_by_seed",
        "Seed by seed and site by site",
        "arm",
        rows,
        [
            f"{scale.spec.sites} sites of {scale.spec.mean_pages} pages on average; home pages do not lead to "
            f"{scale.spec.hidden:.0%} of a site's pages",
            _coverage_text(rows),
            _overlap_text(rows, scale),
            _truth_text(rows),
        ],
        _claims(rows, scale),
        [Plot("Pages found, and pages fetched twice", [_found_panel(rows), _overlap_panel(rows, scale)])],
    )


def _of(rows: Sequence[Row], way: str) -> list[Row]:
    return [row for row in rows if row["way"] == way]


def _site_by_site(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if row["seeds a site"] == 1)


def _more(rows: Sequence[Row], row: Row) -> str:
    """Say how many more pages than site by site were found."""
    return f"{100 * (float(row['pages found']) / float(_site_by_site(rows)['pages found']) - 1):+.1f} %"


def _coverage_text(rows: Sequence[Row]) -> str:
    parts = [f"of all pages, one home page a site finds {float(_site_by_site(rows)['found %']):.1f} %"]
    for kind in (DOORS, DRAWN):
        several = [row for row in _of(rows, kind) if row["seeds a site"] != 1]
        found = ", ".join(f"{float(row['found %']):.1f} % with {row['seeds a site']}" for row in several)
        parts.append(f"{kind} {found}")
    return "; ".join(parts)


def _overlap_text(rows: Sequence[Row], scale: Scale) -> str:
    parts = []
    for way in scale.together:
        values = [float(row["overlap %"]) for row in _of(rows, way)]
        low, high = f"{min(values):.1f}", f"{max(values):.1f}"
        parts.append(f"{way} {low} %" if low == high else f"{way} {low} to {high} %")
    return f"pages fetched once more by the other machine: {', '.join(parts)}"


def _truth_text(rows: Sequence[Row]) -> str:
    wrong = [str(row["arm"]) for row in rows if row["not as the truth says"]]
    killed = [str(row["arm"]) for row in rows if row[KILLED]]
    said = f"not what the truth says: {'; '.join(wrong)}" if wrong else "all crawls found what the truth says, no more"
    return f"{said}; {KILLED}, their figures are of what was there then: {'; '.join(killed)}" if killed else said


def _claims(rows: Sequence[Row], scale: Scale) -> list[Claim]:
    ends = [row for kind in (DOORS, DRAWN) for row in (*_of(rows, kind)[:2], _of(rows, kind)[-1])]
    chosen = {str(row["arm"]): row for row in ends if row["seeds a site"] != 1}
    more = ", ".join(f"{arm}: {_more(rows, row)}" for arm, row in chosen.items())
    overlaps = "; ".join(f"{way} {float(_of(rows, way)[-1]['overlap %']):.1f} %" for way in scale.together)
    return [
        Claim(
            "pages found seed by seed, against site by site", "paper 004, section 3.1", "more", more
        ),
        Claim(
            f"overlap of two machines, {_of(rows, SEEDS_SPLIT)[-1]['seeds a site']} seeds a site",
            "paper 004, section 2.2", "less than machines that know nothing of each other", overlaps,
        ),
    ]  # fmt: skip


def _line(rows: Sequence[Row], way: str, column: str, dashed: bool = False) -> Line:
    chosen = _of(rows, way)
    if way == DRAWN:
        chosen = [_site_by_site(rows), *chosen]
    return Line(
        way, [float(row["seeds a site"]) for row in chosen], [float(row[column]) for row in chosen], points=True,
        dashed=dashed,
    )  # fmt: skip


def _found_panel(rows: Sequence[Row]) -> Panel:
    lines = [_line(rows, DOORS, "found %"), _line(rows, DRAWN, "found %")]
    most = max(max(line.xs) for line in lines)
    lines.append(Line("site by site", [1, most], [float(_site_by_site(rows)["found %"])] * 2, dashed=True))
    return Panel("pages found by one machine", "seeds a site", "% of all pages", lines, from_zero=False)


def _overlap_panel(rows: Sequence[Row], scale: Scale) -> Panel:
    lines = [_line(rows, way, "overlap %", dashed=way == SITES_SPLIT) for way in scale.together]
    return Panel("pages fetched twice by two machines", "seeds a site", "% of pages found", lines)


if __name__ == "__main__":
    main()
