"""What may enter a crawl, by the seeds that were given."""

from __future__ import annotations

from scrawler.model.scope import Boundary, Scope
from scrawler.urls.boundary import BoundaryRule, boundary_name, not_within
from tests.tables import each

GIVEN = ("http://example.org/a", "https://www.shop.co.uk:8443/", "http://10.0.0.1/", "http://dotted.net./")


def rule(boundary: Boundary) -> BoundaryRule:
    return BoundaryRule(boundary, frozenset(boundary_name(url, boundary) for url in GIVEN))


@each(
    ("url", "enters"),
    [
        ("http://example.org/b", {"any", "domain", "host"}),
        ("https://example.org:444/", {"any", "domain", "host"}),
        ("http://example.org./", {"any", "domain", "host"}),
        ("http://dotted.net/", {"any", "domain", "host"}),
        ("http://www.example.org/", {"any", "domain"}),
        ("http://shop.co.uk/", {"any", "domain"}),
        ("http://10.0.0.1:81/", {"any", "domain", "host"}),
        ("http://other.co.uk/", {"any"}),
        ("http://example.org.evil.com/", {"any"}),
        ("http://notexample.org/", {"any"}),
        ("http://10.0.0.2/", {"any"}),
        ("http://[::1]/", {"any"}),
    ],
)
def test_what_enters(url: str, enters: set[str]) -> None:
    assert {boundary.value for boundary in Boundary if not rule(boundary).refusal(url)} == enters


def test_the_reason_names_what_no_seed_has() -> None:
    url = "http://a.b.other.co.uk/"
    outside = "outside the boundary of the crawl: no seed that was given has the"
    assert rule(Boundary.DOMAIN).refusal(url) == f"{outside} domain other.co.uk"
    assert rule(Boundary.HOST).refusal(url) == f"{outside} host a.b.other.co.uk"


def test_no_boundary_runs_through_a_site() -> None:
    assert not_within(Boundary.HOST, Scope.DOMAIN) is Boundary.DOMAIN
    kept = [(boundary, scope) for boundary in Boundary for scope in Scope if not_within(boundary, scope) is boundary]
    assert len(kept) == len(Boundary) * len(Scope) - 1
