"""SCrawler and its peers on the same webs, in turns: python -m experiments.peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from experiments.broadweb.pages import Pages
from experiments.broadweb.server import why_not as broad_why_not
from experiments.competitors.peer import Peer
from experiments.competitors.roster import CLASSIC, DEFAULT, TWO, peers
from experiments.competitors.turns import CRAWL, Turn, in_turn, ratio_text, ratios, rows_of, take_turn
from experiments.competitors.webs import Web, broad, docsweb, docsweb_why_not, synthetic
from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, row_text, write_report
from scrawler.features.synthweb.spec import WebSpec

_SPEC = WebSpec(sites=40, mean_pages=150, hidden=0.0)
_GENTLE = WebSpec(sites=40, mean_pages=25, equal=True, latency_ms=100.0, hidden=0.0)
_BROAD_SITES, _BROAD_PAGES, _BROAD_DELAY = 400, Pages(count=10), 1.0
_QUICK_SPEC = WebSpec(sites=6, mean_pages=8, hidden=0.0)
_QUICK_GENTLE = WebSpec(sites=4, mean_pages=3, equal=True, latency_ms=5.0, hidden=0.0)
_QUICK_BROAD_SITES, _QUICK_BROAD_PAGES, _QUICK_BROAD_DELAY = 5, Pages(count=4), 0.1
_TIMEOUT, _SLOW_TIMEOUT, _QUICK_TIMEOUT = 400.0, 1200.0, 60.0
_NAMES = [peer.name for peer in peers()]
_WEBS = ("docsweb", "synthetic", "gentle", "broad")
_QUICK_WEBS = ("synthetic", "broad")
_NO_GOAL = ("no goal", "-")
# What is compared: quantity, two crawlers, column, who states something about it, and what.
_COMPARED = (
    ("pages/s", DEFAULT, "scrapy", "pages/s", "goal", "at least 20"),
    ("pages/s", DEFAULT, "scrapy-tuned", "pages/s", *_NO_GOAL),
    ("pages/s", DEFAULT, "crawlee", "pages/s", *_NO_GOAL),
    ("pages/s", DEFAULT, CLASSIC, "pages/s", *_NO_GOAL),
    ("pages/s", DEFAULT, "colly", "pages/s", *_NO_GOAL),
    ("pages/s", TWO, "wget2", "pages/s", "goal", "at least 1.0"),
    ("pages/s at work", TWO, "wget2", "pages/s at work", *_NO_GOAL),
    ("pages/CPU s", DEFAULT, "wget2", "pages/CPU s", *_NO_GOAL),
    ("pages/CPU s", DEFAULT, "spider", "pages/CPU s", *_NO_GOAL),
    ("pages/CPU s", DEFAULT, "colly", "pages/CPU s", *_NO_GOAL),
    ("pages/CPU s", DEFAULT, "heritrix", "pages/CPU s", *_NO_GOAL),
    ("pages/s (4 nodes there: 43.80 / 21.64)", DEFAULT, "heritrix", "pages/s", "paper 002, Table II", "2.02"),
)


@experiment
@click.option("--rounds", default=3, show_default=True, help="Turns of each crawler but the slowest, which have one.")
@click.option("--only", multiple=True, type=click.Choice(_NAMES), help="Leave the others out; may be repeated.")
@click.option("--without", multiple=True, type=click.Choice(_NAMES), help="Leave this one out; may be repeated.")
@click.option("--web", multiple=True, type=click.Choice(_WEBS), help="Leave the other webs out; may be repeated.")
def main(
    quick: bool, results: Path, rounds: int, only: Sequence[str], without: Sequence[str], web: Sequence[str]
) -> None:
    """Is SCrawler as fast as it wants to be, beside the crawlers that people use?"""
    chosen = [peer for peer in peers() if peer.name in (only or _NAMES) and peer.name not in without]
    absent = _absent(chosen, quick)
    with ExitStack() as stack:
        webs = list(_webs(stack, web or (_QUICK_WEBS if quick else _WEBS), absent, quick))
        if not webs:
            raise click.ClickException("there is no web to crawl")
        turns = list(_turns(webs, [peer for peer in chosen if peer.name not in absent], 1 if quick else rounds, quick))
    rows = rows_of(turns, {web.name: web.truth for web in webs})
    report = Report(
        "peers",
        "SCrawler and its peers",
        CRAWL,
        rows,
        [*_notes(chosen, absent, webs), *(others_text(rows, web.name) for web in webs[1:])],
        _claims(rows, webs[0].name, absent),
        [Plot("pages/s over time (as paper 002, Figure 4-1)", _panels(turns, webs))],
        {"over-time": _over_time(turns)},
        {"What each of them does besides": [_besides(peer, absent) for peer in chosen]},
    )
    write_report(report, results)
    if failed := [f"{turn.peer} on {turn.web}" for turn in turns if turn.failure]:
        raise click.ClickException(f"not complete: {', '.join(failed)}")


def _absent(chosen: Sequence[Peer], quick: bool) -> dict[str, str]:
    """Return why crawlers can't run here, by name; a full run installs what it can."""
    absent = {}
    for peer in chosen:
        if not quick:
            peer.install()
        why = peer.why_not()
        if quick and peer.slow_to_start:
            why = "it takes minutes on the smallest web too"
        if why:
            absent[peer.name] = why
            click.echo(f"{peer.name} is left out: {why}")
    return absent


def _webs(stack: ExitStack, chosen: Sequence[str], absent: dict[str, str], quick: bool) -> Iterator[Web]:
    if "docsweb" in chosen and (why := docsweb_why_not()):
        absent["docsweb"] = why
        click.echo(f"docsweb is left out: {why}")
    elif "docsweb" in chosen:
        yield stack.enter_context(docsweb())
    if "synthetic" in chosen:
        yield stack.enter_context(synthetic("synthetic", _QUICK_SPEC if quick else _SPEC))
    if "gentle" in chosen:
        yield stack.enter_context(synthetic("gentle", _QUICK_GENTLE if quick else _GENTLE, gentle=True))
    if "broad" in chosen and (why := broad_why_not()):
        absent["broad"] = why
        click.echo(f"broad is left out: {why}")
    elif "broad" in chosen and quick:
        yield stack.enter_context(broad(_QUICK_BROAD_SITES, _QUICK_BROAD_PAGES, _QUICK_BROAD_DELAY))
    elif "broad" in chosen:
        yield stack.enter_context(broad(_BROAD_SITES, _BROAD_PAGES, _BROAD_DELAY))


def _turns(webs: Sequence[Web], present: Sequence[Peer], rounds: int, quick: bool) -> Iterator[Turn]:
    with ExitStack() as folders:
        for number in range(1, rounds + 1):
            for web in webs:
                for peer in in_turn(present, number):
                    turn = take_turn(number, web, peer, _QUICK_TIMEOUT if quick else _timeout(peer), folders)
                    click.echo(row_text(rows_of([turn], {web.name: web.truth})[0]))
                    yield turn


def _timeout(peer: Peer) -> float:
    return _SLOW_TIMEOUT if peer.slow else _TIMEOUT


def _claims(rows: Sequence[Row], web: str, absent: Mapping[str, str]) -> list[Claim]:
    claims = [
        Claim(f"{web}: {what}, {one} over {other}", source, stated, _beside(rows, web, one, other, column, absent))
        for what, one, other, column, source, stated in _COMPARED
    ]
    speeds = [float(row["pages/s"]) for row in rows if row[CRAWL] == f"{web}: nutch"]
    nutch = f"{max(speeds):.1f}" if speeds else f"not measured ({absent.get('nutch', 'left out')})"
    return [*claims, Claim(f"{web}: pages/s of Nutch (3 nodes there)", "paper 002, section V", "5", nutch)]


def _beside(rows: Sequence[Row], web: str, one: str, other: str, column: str, absent: Mapping[str, str]) -> str:
    """Return how many times as much `one` has of a column as `other`, or why nobody knows."""
    times = ratios(rows, web, one, other, column)
    missing = "; ".join(f"{name}: {absent[name]}" for name in (one, other) if name in absent)
    return ratio_text(times) if times else f"not measured ({missing or 'left out'})"


def others_text(rows: Sequence[Row], web: str) -> str:
    """Say the ratios on a web for which nobody states any."""
    parts = []
    for _, one, other, column, *_ in _COMPARED:
        if times := ratios(rows, web, one, other, column):
            parts.append(f"{column}, {one} over {other}: {ratio_text(times)}")
    return f"{web}: {'; '.join(parts) or 'nothing to compare'}"


def _notes(chosen: Sequence[Peer], absent: Mapping[str, str], webs: Sequence[Web]) -> list[str]:
    return [
        "crawlers and server share this machine's processors: CPU is that of the crawler and its children, "
        "the server's stands beside it; pages/s is from the start of the program to its end",
        "pages: HTML pages answered with 200 that belong to a seed's party, each counted once (docsweb: that any of "
        "the crawlers found); forbidden: pages fetched that robots.txt forbids; peak RSS: all its processes together",
        *(f"{web.name}: {len(web.seeds)} sites" for web in webs),
        *(f"{peer.name}: {peer.settings}" for peer in chosen if peer.name not in absent),
        *(f"{name} was left out: {why}" for name, why in absent.items()),
    ]


def _besides(peer: Peer, absent: Mapping[str, str]) -> Row:
    habits = peer.habits
    return {
        "crawler": peer.name,
        "measured here": "no" if peer.name in absent else "yes",
        "works as": habits.works_as,
        "robots.txt": habits.robots,
        "requests to a site": habits.at_a_time,
        "keeps": habits.keeps,
        "when killed": habits.resumes,
    }


def _panels(turns: Sequence[Turn], webs: Sequence[Web]) -> list[Panel]:
    def lines(web: str) -> Iterator[Line]:
        for turn in turns:
            if turn.web == web and turn.number == 1:
                times, speeds = turn.pages_per_second()
                yield Line(turn.peer, times, speeds, bold=turn.peer == DEFAULT, dashed=turn.peer in (TWO, CLASSIC))

    return [
        Panel(web.name, "time in s", "pages/s", list(lines(web.name)), log_x=True, log_y=True, from_zero=False)
        for web in webs
    ]


def _over_time(turns: Sequence[Turn]) -> list[Row]:
    return [
        {ROUND: turn.number, CRAWL: f"{turn.web}: {turn.peer}", "s": at, "pages/s": speed}
        for turn in turns
        for at, speed in zip(*turn.pages_per_second(), strict=True)
    ]


if __name__ == "__main__":
    main()
