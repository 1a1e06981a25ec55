"""What a crawler must find: an exact breadth-first walk over the layout, without fetching anything."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

from scrawler.features.synthweb.spec import Hosts
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target
from scrawler.model.scope import Scope

MAX_REHOMING = 5  # redirects that a seed may follow across sites


@dataclass(slots=True)
class Party:
    """What is found from one seed, as normalised URLs; the sets but `external` are disjoint.

    `home` is the seed URL, or where its redirects to another site led.
    """

    home: str
    pages: set[str] = field(default_factory=set)  # HTML pages that are answered with 200
    redirects: set[str] = field(default_factory=set)  # URLs that redirect, those that re-home the seed among them
    missing: set[str] = field(default_factory=set)  # URLs that are answered with 404
    files: set[str] = field(default_factory=set)  # .pdf and .png, which are answered with 200
    denied: set[str] = field(default_factory=set)  # URLs that robots.txt forbids
    late: set[str] = field(default_factory=set)  # HTML pages whose answers come after the timeout
    dead: set[str] = field(default_factory=set)  # URLs of hosts that never answer, not even with a robots.txt
    external: set[str] = field(default_factory=set)  # URLs outside the scope to which links or redirects lead

    @property
    def requested(self) -> set[str]:
        """All URLs that a server hears of from a crawler which does not ask for files; none of a dead host."""
        return self.pages | self.redirects | self.missing | self.late


def party(
    web: SyntheticWeb,
    seed_url: str,
    scope: Scope = Scope.HOST,
    max_depth: int | None = None,
    robots: bool = True,
    timeout: float = inf,
    given: bool = False,
) -> Party:
    """Walk the party of a seed, with a crawler that waits `timeout` seconds for each page.

    A redirect of the seed to another site re-homes it, at depth 0. Any other redirect is a link: its aim is one level
    deeper. With `given` the host of a seed that has moved belongs to its party. External URLs count wherever they are
    found, below the deepest pages too. KeyError: not a URL of this web.
    """
    home, passed = _rehome(web, web.target(seed_url))
    found = Party(home=web.url(home), redirects={web.url(target) for target in passed})
    internal = _scope(web, home, scope, web.target(seed_url) if given else home)
    seen = {home}
    waiting = deque([(home, 0)])
    while waiting:
        target, depth = waiting.popleft()
        if max_depth is not None and depth > max_depth:
            continue
        for aim in _visit(web, target, found, robots, timeout):
            if aim in seen:
                continue
            seen.add(aim)
            if internal(aim):
                waiting.append((aim, depth + 1))
            else:
                found.external.add(web.url(aim))
    return found


def reachable(web: SyntheticWeb, seed_urls: Iterable[str], max_depth: float = inf, robots: bool = True) -> set[str]:
    """Return the HTML pages to which seeds lead over all sites: what a crawl finds that follows external links as well.

    Breadth first, so that each has the least depth that it can have. KeyError: not a URL of this web.
    """
    found = Party(home="")
    waiting = deque((web.target(url), 0) for url in seed_urls)
    seen = {target for target, _ in waiting}
    while waiting:
        target, depth = waiting.popleft()
        for aim in _visit(web, target, found, robots, inf):
            if aim not in seen and depth < max_depth:
                seen.add(aim)
                waiting.append((aim, depth + 1))
    return found.pages


def _visit(web: SyntheticWeb, target: Target, found: Party, robots: bool, timeout: float) -> list[Target]:
    """Put the target where it belongs and return what it leads to."""
    url = web.url(target)
    if web.site(target.site).dead:
        found.dead.add(url)
        return []
    if robots and _denied(web, target):
        found.denied.add(url)
        return []
    step = web.redirect(target)
    if step is not None:
        found.redirects.add(url)
        return [step[1]]
    if target.kind is Kind.PAGE:
        if web.wait_s(target) > timeout:
            found.late.add(url)
            return []
        found.pages.add(url)
        return [link.target for link in web.links(web.site(target.site), target.number)]
    (found.missing if target.kind is Kind.MISSING else found.files).add(url)
    return []


def _denied(web: SyntheticWeb, target: Target) -> bool:
    site = web.site(target.site)
    return site.disallows_private and target.kind is Kind.PAGE and site.private(target.number)


def _rehome(web: SyntheticWeb, seed: Target) -> tuple[Target, list[Target]]:
    """Follow the seed's redirects as long as they lead to another site."""
    home, passed = seed, []
    for _ in range(MAX_REHOMING):
        step = web.redirect(home)
        if step is None or step[1].site == home.site:
            break
        passed.append(home)
        home = step[1]
    return home, passed


def _scope(web: SyntheticWeb, home: Target, scope: Scope, given: Target) -> Callable[[Target], bool]:
    """Return the test for internal targets; all names are of the registrable domain synth.test, addresses of none."""
    if scope is Scope.PREFIX:
        url = web.url(home).partition("?")[0]
        folder = url[: url.rindex("/") + 1]
        return lambda target: web.url(target).startswith(folder)
    if scope is Scope.DOMAIN and web.spec.hosts is Hosts.NAMES:
        return lambda target: True
    return lambda target: target.site in (home.site, given.site)
