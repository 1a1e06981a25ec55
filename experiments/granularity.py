"""How many links stay inside a machine, by what is divided: python -m experiments.granularity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

import click

from experiments.docsweb.sites import SITES
from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.report import Claim, Plot, Report, Row, number, row_text, write_report
from scrawler.extract.scanner import fastest_extractor
from scrawler.features.cluster.partition.maps import owner_map
from scrawler.features.cluster.partition.slots import LOGICAL_NODES, NOBODY, assigned
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.web import SyntheticWeb
from scrawler.model.machines import Living, LivingMachine
from scrawler.model.partitions import PartitionKind
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import site_key

Owner: TypeAlias = Callable[[str], int | None]  # of a URL

_MACHINES, _QUICK_MACHINES = (2, 4, 8, 16, 32, 64), (2, 8)
_SITE_PAGES, _QUICK_SITE_PAGES = 400, 5  # pages of each real site that are read
_SITES, _QUICK_SITES = 400, 20  # of the synthetic web
_PLACES = {  # where the packages' pages stand on the web: their links to each other name these hosts
    "python": "http://docs.python.org/3",
    "sqlite": "http://www.sqlite.org",
    "postgresql": "http://www.postgresql.org/docs/15",
    "git": "http://git-scm.com/docs",
    "cppreference": "http://en.cppreference.com",
    "django": "http://docs.djangoproject.com/en",
    "apache": "http://httpd.apache.org/docs/2.4",
}


class Link(NamedTuple):
    """A link from one page to another one."""

    page: str
    target: str


@experiment
def main(quick: bool, results: Path) -> None:
    """What share of links stays inside a machine, if pages, hosts or sub-sites are divided?"""
    webs = {
        "documentation": list(_documentation(_QUICK_SITE_PAGES if quick else _SITE_PAGES)),
        "synthetic": list(_synthetic(_QUICK_SITES if quick else _SITES)),
    }
    rows = list(_shown(_rows(webs, _QUICK_MACHINES if quick else _MACHINES)))
    report = Report(
        "granularity",
        "Links that stay inside a machine",
        "divided",
        rows,
        _notes(webs),
        _claims(webs),
        [Plot("links that stay inside, by the number of machines", [_panel(rows, web) for web in webs])],
    )
    write_report(report, results)


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        click.echo(row_text(row))
        yield row


def _documentation(pages: int) -> Iterator[Link]:
    """Yield the links of real pages, as far as their packages are installed."""
    extractor = fastest_extractor()
    for site in SITES:
        files = sorted(site.root.rglob("*.html")) if site.root.is_dir() else []
        step = max(1, len(files) // pages)
        for file in islice(files, 0, step * pages, step):
            url = normalise(f"{_PLACES[site.name]}/{file.relative_to(site.root).as_posix()}").url
            found = extractor.links(file.read_bytes(), url)
            yield from _distinct(url, (normalise(href, found.base).url for href in found.hrefs))


def _synthetic(sites: int) -> Iterator[Link]:
    """Yield the links of a synthetic web whose hosts are all of one domain."""
    web = SyntheticWeb(WebSpec(sites=sites, mean_pages=20, hosts=Hosts.NAMES, alias_every=0), port=80)
    for url in web.seeds(per_site=3):
        target = web.target(url)
        yield from _distinct(url, (web.url(link.target) for link in web.links(web.site(target.site), target.number)))


def _distinct(page: str, targets: Iterable[str]) -> Iterator[Link]:
    bare = (target.partition("#")[0] for target in targets)
    yield from (Link(page, target) for target in dict.fromkeys(bare) if target.startswith("http") and target != page)


def _rows(webs: dict[str, list[Link]], machines: Sequence[int]) -> Iterator[Row]:
    for web, links in webs.items():
        for count in machines if links else ():
            for way, owner in _ways(count).items():
                inside = sum(owner(link.page) == owner(link.target) for link in links) / len(links)
                yield {
                    "divided": f"{web}: {way}, {count} machines",
                    "web": web,
                    "way": way,
                    "machines": count,
                    "links": len(links),
                    "inside, %": 100 * inside,
                    "sent a page": (1 - inside) * len(links) / len({link.page for link in links}),
                }


def _ways(machines: int) -> dict[str, Owner]:
    living = Living(tuple(LivingMachine(one, 10, f"agent-{one}") for one in range(1, machines + 1)))
    table = assigned((NOBODY,) * LOGICAL_NODES, living.weights())
    modulo, subsite = (owner_map(kind, living, table) for kind in (PartitionKind.MODULO, PartitionKind.SUBSITE))
    consistent = owner_map(PartitionKind.CONSISTENT, living)
    random = Random(machines)
    return {
        "random": lambda url: random.randrange(machines),  # whoever asks next: no two need agree
        "page": lambda url: _hashed(url) % machines,
        "host, modulo with one level": lambda url: _hashed(site_key(url, Scope.HOST)) % machines,
        "host, modulo": lambda url: modulo.owner(site_key(url, Scope.HOST)),
        "host, consistent": lambda url: consistent.owner(site_key(url, Scope.HOST)),
        "first word of the host, subsite": lambda url: subsite.owner(site_key(url, Scope.HOST)),
        "domain, consistent": lambda url: consistent.owner(site_key(url, Scope.DOMAIN)),
    }


def _hashed(text: str) -> int:
    return int.from_bytes(url_hash(text)[:8], "big")


def _claims(webs: dict[str, list[Link]]) -> list[Claim]:
    return [
        Claim(
            f"links that lead to the own host, {web} pages, %",
            "paper 000, section 3.2.2",
            "90",
            f"{100 * sum(_same_host(link) for link in links) / len(links):.0f}",
        )
        for web, links in webs.items()
        if links
    ]


def _same_host(link: Link) -> bool:
    return site_key(link.page, Scope.HOST) == site_key(link.target, Scope.HOST)


def _panel(rows: Sequence[Row], web: str) -> Panel:
    own = [row for row in rows if row["web"] == web]
    lines = []
    for way in dict.fromkeys(str(row["way"]) for row in own):
        mine = [row for row in own if row["way"] == way]
        xs = [int(number(row, "machines")) for row in mine]
        lines.append(Line(way, xs, [number(row, "inside, %") for row in mine], points=True))
    return Panel(f"{web} pages", "machines", "% of links inside", lines)


def _notes(webs: dict[str, list[Link]]) -> list[str]:
    sizes = "; ".join(
        f"{web}: {len(links):,} links on {len({link.page for link in links}):,} pages" for web, links in webs.items()
    )
    return [
        f"{sizes}. A target counts once a page, and not where it is the page itself.",
        "The documentation pages are those of Debian's packages, under the names of the hosts that publish them; the"
        " hosts of the synthetic web are sub-sites of one domain, and its links are drawn, so that only the order of"
        " the ways says something there. What is not inside is a URL of somebody else: `sent a page` is how many of"
        " them there are for each page.",
    ]


if __name__ == "__main__":
    main()
