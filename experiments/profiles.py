"""Whether the default and the classic profile find the same, and what each costs: python -m experiments.profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path

import click

from experiments.competitors.turns import ratio_text
from experiments.competitors.webs import Web, docsweb, docsweb_why_not, synthetic
from experiments.docsweb.compare import Finding
from experiments.docsweb.profiles import (
    PROFILES,
    Accounts,
    compare_profiles,
    differing_pages,
    html_pages,
    read_accounts,
)
from experiments.lab.command import experiment
from experiments.lab.crawls import import_seeds
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, fresh_folder, run_measured
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import DATABASE, run_command
from scrawler.features.synthweb.spec import WebSpec

_SPEC = WebSpec(sites=40, mean_pages=150)
_QUICK_SPEC = WebSpec(sites=6, mean_pages=8)
_THREADS = 7
_ANY_DEPTH = 10_000
_TIMEOUT = 1800.0  # seconds
_MOST_TOLD = 10  # examples of a difference


@dataclass(frozen=True, slots=True)
class Crawled:
    """One crawl: its figures, and what it made of the sites."""

    profile: str
    row: Row
    accounts: Accounts


@experiment
@click.option("--rounds", default=3, show_default=True, help="Turns of each profile; not with --quick.")
def main(quick: bool, results: Path, rounds: int) -> None:
    """Do the default and the classic profile make the same of real pages, and what does each cost?"""
    why_not = docsweb_why_not()
    crawls: list[Crawled] = []
    with _web(quick or why_not is not None, _QUICK_SPEC if quick else _SPEC) as web:
        for turn in range(1, (1 if quick else rounds) + 1):
            for profile in PROFILES[:: 1 if turn % 2 else -1]:  # the machine may be busier now than later
                crawls.append(_crawl(turn, web, profile))
                click.echo(row_text(crawls[-1].row))
        found = differences(crawls)
        pages = html_pages(crawls[0].accounts) if found else []
        unlike = list(islice(differing_pages(pages), _MOST_TOLD))
    notes = [f"{web.name}: {len(web.seeds)} sites; {_THREADS} threads, no delay, links followed to any depth"]
    if why_not and not quick:
        notes.append(f"docsweb was left out: {why_not}")
    write_report(report(crawls, [*notes, *(f"read differently: {line}" for line in unlike)]), results)


def _web(is_synthetic: bool, spec: WebSpec) -> AbstractContextManager[Web]:
    return synthetic("synthetic", spec) if is_synthetic else docsweb()


def _crawl(turn: int, web: Web, profile: str) -> Crawled:
    with fresh_folder(f"profiles-{profile}") as folder:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for url in web.seeds))
        import_seeds(folder, seeds)
        places = ceil(len(web.seeds) / _THREADS)
        command = run_command(profile=profile, threads=_THREADS, seeds_per_thread=places, max_depth=_ANY_DEPTH)
        figures = run_measured(command, folder, _TIMEOUT)
        if figures.exit_code:
            raise click.ClickException(f"{profile} ended with {figures.exit_code}, see {folder / OUTPUT}")
        accounts = read_accounts(folder / DATABASE)
    pages = len(html_pages(accounts))
    row: Row = {
        ROUND: turn,
        "profile": profile,
        "URLs": len(accounts.pages),
        "pages": pages,
        "candidate seeds": len(accounts.candidates),
        "links": sum(map(int, accounts.links.values())),
        "CPU us/page": 1e6 * figures.cpu / max(pages, 1),
        "pages/s": pages / figures.wall,
        "wall s": figures.wall,
    }
    return Crawled(profile, row, accounts)


# --- what it says ---------------------------------------------------------------------------------------------------


def differences(crawls: Sequence[Crawled]) -> list[Finding]:
    """Return what differs between the profiles in any round."""
    default, classic = ([one.accounts for one in _of(crawls, profile)] for profile in PROFILES)
    findings = (finding for pair in zip(default, classic, strict=True) for finding in compare_profiles(*pair))
    return [finding for finding in findings if finding.examples]


def report(crawls: Sequence[Crawled], notes: Sequence[str]) -> Report:
    """Return the report of all crawls."""
    found = differences(crawls)
    costs = [
        number(classic, "CPU us/page") / max(number(default, "CPU us/page"), 1.0)
        for default, classic in zip(*([one.row for one in _of(crawls, profile)] for profile in PROFILES), strict=True)
    ]
    differ = "; ".join(dict.fromkeys(f"{finding.what}: {len(finding.examples)}" for finding in found))
    return Report(
        "profiles",
        "The default and the classic profile",
        "profile",
        [one.row for one in crawls],
        [*notes, *dict.fromkeys(f"{one.what}: {'; '.join(one.examples[:_MOST_TOLD])}" for one in found)],
        [
            Claim("pages, candidate seeds and counts of links that differ", "goal", "none", differ or "none"),
            Claim("CPU a page, classic over default", "no goal", "-", ratio_text(costs)),
        ],
        [Plot("What a page costs, and how fast they are", list(_panels(crawls)))],
    )


def _of(crawls: Sequence[Crawled], profile: str) -> list[Crawled]:
    return sorted((one for one in crawls if one.profile == profile), key=lambda one: number(one.row, ROUND))


def _panels(crawls: Sequence[Crawled]) -> Iterator[Panel]:
    for column, title in (("CPU us/page", "CPU time a page"), ("pages/s", "speed")):
        lines = [
            Line(profile, [number(row, ROUND) for row in rows], [number(row, column) for row in rows], points=True)
            for profile in PROFILES
            for rows in [[one.row for one in _of(crawls, profile)]]
        ]
        yield Panel(title, "round", column, lines)


if __name__ == "__main__":
    main()
