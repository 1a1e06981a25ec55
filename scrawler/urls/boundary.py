"""What may enter a crawl at all. What is one site, and internal to a seed, is another question: see `scope`."""

from __future__ import annotations

from dataclasses import dataclass

from scrawler.model.scope import Boundary, Scope
from scrawler.urls.scope import host_port, registrable_domain

_NOUNS = {Boundary.HOST: "host", Boundary.DOMAIN: "domain"}


@dataclass(frozen=True, slots=True)
class BoundaryRule:
    """Says which URLs may enter: those on a host, or in a registrable domain, of a seed that the user gave."""

    boundary: Boundary = Boundary.ANY
    names: frozenset[str] = frozenset()  # `boundary_name` of the URLs of these seeds

    def refusal(self, url: str) -> str:
        """Return in words why a normalised URL may not enter, an empty text if it may."""
        if self.boundary is Boundary.ANY:
            return ""
        name = boundary_name(url, self.boundary)
        if name in self.names:
            return ""
        return f"outside the boundary of the crawl: no seed that was given has the {_NOUNS[self.boundary]} {name}"


def not_within(boundary: Boundary, scope: Scope) -> Boundary:
    """Return a boundary that does not run through a site: where a domain is one site, all of its hosts are inside."""
    return Boundary.DOMAIN if boundary is Boundary.HOST and scope is Scope.DOMAIN else boundary


def boundary_name(url: str, boundary: Boundary) -> str:
    """Return the host of a normalised URL, whatever its port, or its registrable domain."""
    host = host_port(url)[0]
    if boundary is Boundary.DOMAIN:
        return registrable_domain(host)
    return host[:-1] if len(host) > 1 and host[-1] == "." else host
