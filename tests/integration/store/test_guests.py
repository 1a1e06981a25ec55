"""Guests have the lease of the site itself, its clock comes and goes with them, and nothing is lost on the way."""

from __future__ import annotations

import pytest

from scrawler.features.cluster.agents.partition import AgentPartition
from scrawler.features.cluster.agents.views import View
from scrawler.features.cluster.store.agents import AgentClaims
from scrawler.features.cluster.store.guests import GuestCheckpoints, GuestInboxes, Visits
from scrawler.features.cluster.store.outbox import SentExternals
from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import Rehoming
from scrawler.model.exchange import Exchanged, Guests
from scrawler.model.rows import ExternalRow
from scrawler.model.scope import Boundary, Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.commit.inboxes import exchanged
from scrawler.store.engines.engine import Database
from scrawler.store.sums.guests import guests
from scrawler.store.upkeep.features import has_rows_of
from tests.integration.store.crawling import Worker, acknowledgement_lost, add, page, seed_delta, site_delta

HOME, THERE = "http://b.org/", "http://b.org/hidden"
DONE = {"state": SeedState.DONE, "end_reason": EndReason.COMPLETED}


class Guest:
    """A machine that holds the site a.org, finds URLs of others there, and visits these."""

    def __init__(self, database: Database) -> None:
        add(database, "http://a.org/")
        self.worker = Worker.of(database)
        self.site = self.worker.claim_one()
        self.seed_id = self.site.seeds[0].id
        boundary = CrawlBoundary(database, Boundary.ANY, Scope.HOST)
        out = SentExternals(database, Scope.HOST, boundary, 15, for_guests=True)
        self.checkpoints = GuestCheckpoints(database, self.worker.id, out)
        self.inboxes = GuestInboxes(database, self.worker.id, Scope.HOST, boundary, 15)
        self.visits = Visits(database, self.worker.id)

    def find(self, *urls: str, depth: int = 0) -> None:
        """Commit a checkpoint with external URLs, and let parties begin for them."""
        rows = tuple(sorted(ExternalRow(self.seed_id, url_hash(url), url, depth, 1) for url in urls))
        self.checkpoints.commit([site_delta(self.site, seed_delta(self.seed_id, externals=rows))])
        self.inboxes.open_parties(10)

    def visit(self) -> list[ClaimedSite]:
        return self.visits.visit(10, 10)


@pytest.fixture
def guest(database: Database) -> Guest:
    return Guest(database)


def states(database: Database) -> dict[str, tuple[str, bool]]:
    """Return the state of each site, and whether it has an owner."""
    with database.read() as connection:
        rows = connection.exec_driver_sql("SELECT site_key, state, owner FROM site").all()
    return {key: (state, owner is not None) for key, state, owner in rows}


def ended(database: Database, url: str, **delta: object) -> None:
    """Let the one seed of a site end, with its owner's clock."""
    add(database, url)
    owner = Worker.of(database, "owner")
    claimed = owner.claim_one()
    owner.commit(site_delta(claimed, seed_delta(claimed.seeds[0].id, **DONE), released=True, **delta))


def test_a_guest_takes_the_lease_and_the_clock_of_the_site_and_gives_both_back(
    database: Database, guest: Guest
) -> None:
    ended(database, HOME, next_due_at=12345, pause_ms=700, slowest_ms=90)
    guest.find(THERE)
    (there,) = guest.visit()
    assert (there.key, there.next_due_at, there.pause_ms, there.slowest_ms) == ("b.org", 12345, 700, 90)
    assert [(one.url, one.base_depth, one.hops) for one in there.seeds] == [(THERE, 1, 1)]
    assert states(database)["b.org"] == ("active", True)
    assert states(database)["guest b.org"] == ("visited", True)
    assert guest.visit() == []
    done = seed_delta(there.seeds[0].id, pages=(page(there.seeds[0].id, THERE),), **DONE)
    guest.checkpoints.commit([site_delta(there, done, released=True, next_due_at=67890, guest_at=there.guest_at)])
    assert states(database)["b.org"] == ("done", False)
    assert states(database)["guest b.org"] == ("left", False)
    with database.read() as connection:
        clock = connection.exec_driver_sql("SELECT next_due_at FROM site WHERE site_key = 'b.org'").scalar()
    assert clock == 67890
    assert exchanged(database) == Exchanged()


def test_no_guest_comes_where_the_owner_is_or_has_anything_to_do(database: Database, guest: Guest) -> None:
    add(database, HOME)
    guest.find(THERE)
    assert guest.visit() == [], "a seed waits"
    owner = Worker.of(database, "owner")
    claimed = owner.claim_one()
    assert guest.visit() == [], "the owner is there"
    owner.commit(site_delta(claimed, seed_delta(claimed.seeds[0].id, **DONE), released=True))
    (there,) = guest.visit()
    assert Worker.of(database, "third").claim() == [], "the guest is there"
    add(database, "http://b.org/new")
    assert Worker.of(database, "third").claim() == []
    assert guest.visits.in_the_way([there.guest_at]) == {there.guest_at}
    guest.checkpoints.commit([site_delta(there, released=True, guest_at=there.guest_at)])
    assert states(database)["guest b.org"] == ("guest", False)
    assert [one.url for one in Worker.of(database, "third").claim_one().seeds] == ["http://b.org/new"]
    assert guest.visit() == []


def test_a_database_needs_the_feature_once_a_party_of_guests_began(database: Database, guest: Guest) -> None:
    guest.find()
    assert not has_rows_of(database, "cluster")
    guest.find(THERE)
    assert has_rows_of(database, "cluster")


def test_the_site_of_a_dead_guest_rests_first(database: Database, guest: Guest) -> None:
    guest.find(THERE)
    (there,) = guest.visit()
    Machines(database).stop(guest.worker.id)
    assert guest.visit() == [], "who was declared dead gets nothing"
    heir = Worker.of(database, "heir")
    visits = Visits(database, heir.id)
    assert visits.visit(10, 10) == [], "the site itself is the dead one's still"
    left = {one.key: one for one in heir.claim()}
    assert left.keys() == {"a.org", "b.org"}
    assert (left["b.org"].seeds, left["b.org"].after_death) == ((), True)
    assert visits.visit(10, 10) == []
    late = database.now() + 3_600_000
    heir.commit(site_delta(left["b.org"], released=True, next_due_at=late))
    assert visits.visit(10, 10) == [], "it rests for so long that a guest does not wait there"
    with database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE site SET next_due_at = 7 WHERE id = {there.guest_at}")
    (again,) = visits.visit(10, 10)
    assert (again.id, again.token, again.next_due_at) == (there.id, there.token + 1, 7)
    stale = site_delta(there, released=True, guest_at=there.guest_at)
    assert heir.commit(stale) == {there.id}


def test_lost_acknowledgements_lose_and_double_nothing(
    database: Database, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest.find()
    rows = (ExternalRow(guest.seed_id, url_hash(THERE), THERE, 0, 1),)
    with acknowledgement_lost(database, monkeypatch):
        guest.checkpoints.commit([site_delta(guest.site, seed_delta(guest.seed_id, externals=rows))])
    with acknowledgement_lost(database, monkeypatch):
        assert guest.inboxes.open_parties(10) == 1
    with acknowledgement_lost(database, monkeypatch):
        (there,) = guest.visit()
    assert (there.token, len(there.seeds)) == (1, 1)
    assert guest.visit() == []


def test_what_is_known_or_given_up_brings_no_guest(database: Database, guest: Guest) -> None:
    guest.checkpoints.commit([site_delta(guest.site, seed_delta(guest.seed_id, pages=(page(guest.seed_id, THERE),)))])
    ended(database, "http://c.org/", next_due_at=0)
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE seed SET end_reason = 'max-pages' WHERE url = 'http://c.org/'")
    guest.find(THERE, "http://c.org/hidden")
    assert guest.visit() == []
    guest.find("http://d.org/too-deep", depth=15)
    assert guest.visit() == []
    assert guests(database) == Guests()


def test_a_party_of_guests_that_is_redirected_stays_one(database: Database, guest: Guest) -> None:
    add(database, "http://c.org/")
    guest.find(THERE)
    (there,) = guest.visit()
    moved = Rehoming("http://c.org/x", "c.org", 1)
    went = seed_delta(there.seeds[0].id, state=SeedState.READY, rehoming=moved)
    guest.checkpoints.commit([site_delta(there, went, released=True, guest_at=there.guest_at)])
    assert states(database)["guest c.org"] == ("guest", False)
    assert states(database)["c.org"] == ("ready", False)
    owner = Worker.of(database, "owner")
    claimed = owner.claim_one()
    assert [one.url for one in claimed.seeds] == ["http://c.org/"]
    owner.commit(site_delta(claimed, seed_delta(claimed.seeds[0].id, **DONE), released=True))
    (there,) = guest.visit()
    assert [one.home_url for one in there.seeds] == ["http://c.org/x"]


def test_the_overlap_is_what_owners_have_as_well(database: Database, guest: Guest) -> None:
    add(database, HOME)
    owner = Worker.of(database, "owner")
    claimed = owner.claim_one()
    own = seed_delta(claimed.seeds[0].id, pages=(page(claimed.seeds[0].id, HOME),), **DONE)
    owner.commit(site_delta(claimed, own, released=True))
    guest.find(THERE)
    (there,) = guest.visit()
    number = there.seeds[0].id
    counts = there.seeds[0].counts.__class__(pages=2, bytes=2000)
    rows = tuple(page(number, url) for url in (THERE, HOME))
    done = seed_delta(number, pages=rows, counts=counts, **DONE)
    guest.checkpoints.commit([site_delta(there, done, released=True, guest_at=there.guest_at)])
    assert guests(database) == Guests(parties=1, pages=2, bytes=2000, overlap=1)
    assert guests(database, guest.seed_id) == guests(database)
    assert guests(database, claimed.seeds[0].id) == Guests()
    assert Seeds(database).get(THERE) is None, "a party of guests is no seed of the URL"


def test_what_guests_have_left_keeps_no_agent_at_work(database: Database, guest: Guest) -> None:
    """An agent is no guest: it would fetch at the sites of others. Of its own seeds none is left."""
    guest.find(THERE)
    guest.worker.commit(site_delta(guest.site, seed_delta(guest.seed_id, **DONE), released=True))
    partition = AgentPartition(database, guest.worker.id, "a", View({"a": 1}))
    claims = AgentClaims(database, guest.worker.id, partition, partition.claiming)
    assert partition.is_mine("a.org")
    assert guest.worker.claims.states_left() == {SeedState.READY}
    assert claims.states_left() == set()
