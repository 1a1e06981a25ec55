"""Address literals: http://192.0.2.7/ is the site example.org if it answers there with the same content.

The first link of a party to the address of its own host, written as a literal, makes one request: for the page by
which the seed began, at the literal. If the payload is the same, the literal is another spelling of the site, and
links to it are internal; else it stays a site of its own.
"""

from __future__ import annotations

from scrawler.archive.record import digest
from scrawler.core.party.context import SeedContext
from scrawler.core.party.flights import AliasFlight
from scrawler.core.party.site import Origin, SiteContext, UnsureLink
from scrawler.fetch.downloader import Request, Response
from scrawler.model.results import Result
from scrawler.urls.scope import authority, host_port

_UNSURE_KEPT = 1000  # links that wait for the answer; further ones stay candidates


def note_sample(site: SiteContext, origin: Origin, response: Response) -> None:
    """Remember the first page of a site by name, to compare with."""
    if site.sample is None and origin.host != origin.address:
        site.sample = (response.request.url, digest(response.body))


def suspect(site: SiteContext, origin: Origin, party: SeedContext, urls: list[str], depth: int) -> None:
    """Look for links to the address of the page's own host; the first one makes a request."""
    shown = f"[{origin.address}]" if ":" in origin.address else origin.address
    prefixes = (f"http://{shown}/", f"http://{shown}:", f"https://{shown}/", f"https://{shown}:")
    for url in urls:
        if not url.startswith(prefixes) or site.sample is None:
            continue
        literal = authority(url)
        unsure, judged = site.literals()
        if literal not in unsure:
            sample, payload = site.sample
            there = sample.replace("//" + authority(sample), "//" + literal, 1)
            if host_port(sample)[1] != host_port(there)[1] or there in site.condemned:
                # Another port is another server; what has killed a process is not asked for.
                judged[literal] = None
            else:
                site.queued.append(Request(there, origin.address, AliasFlight(site, origin, literal, payload)))
            unsure[literal] = []  # last: what waits there waits for a request that has been made
        waiting = unsure[literal]
        if len(waiting) < _UNSURE_KEPT and literal not in judged:
            _let_wait(waiting, UnsureLink(party, url, depth, party.finder))


def _let_wait(waiting: list[UnsureLink], link: UnsureLink) -> None:
    """Keep a link until the answer is there; its party must not end before."""
    waiting.append(link)
    link.party.in_flight += 1


def is_same(flight: AliasFlight, response: Response) -> bool:
    """Tell whether the literal shows the site's content; from then on it is an alias."""
    same = response.result is Result.FETCHED and digest(response.body) == flight.payload
    if same:
        flight.site.aliases[flight.literal] = authority(flight.origin.origin + "/")
    return same
