"""Both sides of one rule: honest sites that look like traps, and endless ones, in one crawl.

python -m experiments.traps
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import import_seeds
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, fresh_folder, run_measured
from experiments.lab.report import Claim, Plot, Report, Row, number, write_report
from experiments.lab.scrawler_command import DATABASE, run_command
from scrawler.features.synthweb.process import WebProcess
from scrawler.features.synthweb.traps.honest import LARGE_SHOP
from scrawler.features.synthweb.traps.pages import BEYOND, TrapSite
from scrawler.features.synthweb.traps.server import EVERYTHING, TrapWeb
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason

_MORE = 600  # pages that are fetched beside the real ones at most, or twice as many as a site may cost
_LONGEST = 600.0  # seconds; a crawl that has not ended by then is one that does not end
_MOST_TIME = 240  # seconds in work, of one site
_BARE = {"max_segments": 1_000, "max_repeats": 100, "max_parameters": 1_000, "max_url_length": 16_000, "normalise": ""}
_LIMITS = (EndReason.MAX_PAGES, EndReason.MAX_TIME)
_HELD, _LOST, _GOOD = "holds the crawl", "loses pages", "as it should be"

_SEEDS = "SELECT id, url, end_reason FROM seed"
_FETCHED = "SELECT url FROM page WHERE seed_id = ? AND result = ?"
_LEFT_OUT = "SELECT COUNT(*) FROM page WHERE seed_id = ? AND result = ?"


@experiment
@click.option("--bare", is_flag=True, help="Without limits on the shape of URLs: the rules on what pages say alone.")
@click.option("--only", multiple=True, help="Sites that are crawled, by name; all without.")
def main(quick: bool, results: Path, bare: bool, only: Sequence[str]) -> None:
    """Is no real page lost, and does no endless space hold the crawl?"""
    sites = [site for site in EVERYTHING if not (quick and site is LARGE_SHOP) and (not only or site.name in only)]
    with WebProcess("--traps", "--port=0") as process, fresh_folder("traps") as folder:
        web = TrapWeb(process.port)
        (folder / "scrawler.toml").write_text(_settings(web, sites))
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{home}\n" for home in web.sites(sites)))
        import_seeds(folder, seeds)
        figures = run_measured(_command(bare), folder, _LONGEST)
        if figures.exit_code and not figures.timed_out:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        rows = list(rows_of(folder / DATABASE, web, sites))
    write_report(report(rows, figures.wall), results)
    if bad := [str(row["web"]) for row in rows if row["judgement"] != _GOOD]:
        raise click.ClickException(f"not as they should be: {', '.join(bad)}")


def _command(bare: bool) -> list[str]:
    settings: dict[str, object] = {
        "config": "scrawler.toml", "scope": "domain", "sitemaps": "also", "max_depth": 65_535, "max_time": _MOST_TIME,
        "export": False, "threads": 2,
    }  # fmt: skip
    return run_command(**settings | (_BARE if bare else {}))


def _settings(web: TrapWeb, sites: Sequence[TrapSite]) -> str:
    """Write where names are, and how many pages of each site are fetched at most."""
    resolved = ", ".join(f'"{one}"' for site in sites for one in web.resolved(site))
    limits = (f'[sites."{_host(home)}"]\nmax_pages = {_most(site)}\n' for home, site in web.sites(sites).items())
    return f"resolve = [{resolved}]\n{''.join(limits)}"


def _most(site: TrapSite) -> int:
    """Return how many pages are fetched of a site, if nothing else ends it."""
    return len(site.real) + 2 * BEYOND if site.endless else 5 * len(site.real) + _MORE


def _host(home: str) -> str:
    return home.split("/")[2].partition(":")[0]


def rows_of(database: Path, web: TrapWeb, sites: Sequence[TrapSite]) -> Iterator[Row]:
    """Read what a crawl has fetched of each site."""
    with closing(sqlite3.connect(database)) as connection:
        seeds = {url: (number, reason) for number, url, reason in connection.execute(_SEEDS)}
        for home, site in web.sites(sites).items():
            seed, reason = seeds[home]
            fetched = {url for (url,) in connection.execute(_FETCHED, (seed, Result.FETCHED.value))}
            (left_out,) = connection.execute(_LEFT_OUT, (seed, Result.TRAP.value)).fetchone()
            real = web.real(site.name)
            row: dict[str, str | int | float] = {
                "web": site.name,
                "kind": "endless" if site.endless else "honest",
                "real pages": len(real),
                "real pages fetched": len(fetched & real),
                "pages beyond": len(fetched - real),
                "may be": BEYOND if site.endless else "",
                "left out as traps": left_out,
                "end reason": reason or "none",
            }
            yield row | {"judgement": judgement(row)}


def judgement(row: Row) -> str:
    """Say whether a site lost pages, or held the crawl."""
    held = row["end reason"] in (*_LIMITS, "none")
    if row["kind"] == "endless":
        held = held or number(row, "pages beyond") > number(row, "may be")
    said = [_LOST] * (number(row, "real pages fetched") < number(row, "real pages")) + [_HELD] * held
    return " and ".join(said) or _GOOD


def report(rows: Sequence[Row], seconds: float) -> Report:
    """Put together what was found."""
    kinds = Counter(str(row["kind"]) for row in rows)
    beyond = sorted((number(row, "pages beyond") for row in rows if row["kind"] == "endless"), reverse=True)
    panel = Panel("endless sites", "sites, the dearest first", "pages beyond the real ones",
                  [Line("pages beyond", list(range(1, len(beyond) + 1)), beyond)])  # fmt: skip
    notes = [
        f"{kinds['honest']} honest sites and {kinds['endless']} endless ones in one crawl, which took {seconds:.0f} s."
        f" A site may cost {BEYOND} pages beyond its real ones. What nothing ends is cut off after twice as many.",
        "A real page is one with content of its own; of a shop that are its products, of a calendar its events. Choices"
        " of filters, editors, and copies that are not translated count as beyond.",
    ]
    return Report(
        "traps", "Honest sites and endless ones", "web", rows, notes, _claims(rows), [Plot("Pages beyond", [panel])]
    )


def _claims(rows: Sequence[Row]) -> list[Claim]:
    lost = {str(row["web"]): int(number(row, "real pages") - number(row, "real pages fetched")) for row in rows}
    held = [str(row["web"]) for row in rows if _HELD in str(row["judgement"])]
    return [
        Claim("real pages lost", "goal", "none", _told({web: count for web, count in lost.items() if count})),
        Claim("sites that hold the crawl", "goal", "none: each ends within what it may cost",
              f"{len(held)} of {len(rows)}{': ' if held else ''}{', '.join(held)}"),
    ]  # fmt: skip


def _told(lost: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {web}" for web, count in lost.items()) or "none"


if __name__ == "__main__":
    main()
