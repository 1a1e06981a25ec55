"""Inboxes of sites: what is sent is received once, whatever is lost on the way, and nobody's URLs find somebody."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from sqlalchemy import create_engine, insert, select

from scrawler.core.machine.listener import Arrivals
from scrawler.features.choose.picking import Picked, Picking
from scrawler.features.cluster.store.agents import Mail
from scrawler.features.cluster.store.left_to_send import InboxesWithLeftovers
from scrawler.features.cluster.store.outbox import Carried, SentExternals
from scrawler.features.cluster.store.outboxes import MachineOutbox
from scrawler.model.exchange import Exchanged
from scrawler.model.rows import ExternalRow
from scrawler.model.scope import Boundary, Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import SENT
from scrawler.store.commit.inboxes import Inboxes, Lone, exchanged
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.openings import Opening, Party, opening
from scrawler.store.schema.migrations import migration_texts, statements
from scrawler.store.schema.tables import candidate, inbox, seed, site
from scrawler.store.upkeep.features import has_rows_of
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.integration.store.crawling import Worker, acknowledgement_lost, add, page, seed_delta, site_delta
from tests.stored import BEFORE, dialect_of

THERE = "http://b.org/hidden"


class Sender:
    """A machine that holds the site a.org, and sends what its party finds."""

    def __init__(self, database: Database, max_depth: int = 15) -> None:
        add(database, "http://a.org/")
        self.worker = Worker.of(database)
        self.site = self.worker.claim_one()
        self.seed_id = self.site.seeds[0].id
        boundary = CrawlBoundary(database, Boundary.ANY, Scope.HOST)
        self.out = SentExternals(database, Scope.HOST, boundary, max_depth)
        self.checkpoints = Checkpoints(database, self.worker.id, self.out)
        self.inboxes = Inboxes(database, self.worker.id, Scope.HOST, boundary, max_depth)

    def send(self, url: str, depth: int = 0) -> None:
        """Commit a checkpoint with one external URL."""
        row = ExternalRow(self.seed_id, url_hash(url), url, depth, 1)
        self.checkpoints.commit([site_delta(self.site, seed_delta(self.seed_id, externals=(row,)))])


@pytest.fixture
def sender(database: Database) -> Sender:
    return Sender(database)


def _ended(database: Database, url: str, reason: EndReason) -> int:
    """Let a seed of its own site end; return its id."""
    add(database, url)
    worker = Worker.of(database, url)
    claimed = worker.claim_one()
    number = claimed.seeds[0].id
    worker.commit(
        site_delta(claimed, seed_delta(number, state=SeedState.DONE, end_reason=reason), released=True),
    )
    return number


def test_a_url_is_sent_once_and_again_where_it_is_nearer(database: Database, sender: Sender) -> None:
    for depth in (4, 4, 7, 2):
        sender.send(THERE, depth)
    waiting = sender.inboxes.of_sites(["b.org", "c.org"], 10)
    assert [(one.url, one.depth) for one in waiting["b.org"]] == [(THERE, 5), (THERE, 3)]
    assert exchanged(database) == Exchanged(sent=2, waiting=2)
    kept = select(candidate.c.count, candidate.c.depth, candidate.c.promoted)
    assert [*database.plain_rows(kept)] == [(4, 2, SENT)]


def test_what_is_too_deep_is_kept(database: Database, sender: Sender) -> None:
    sender.send(THERE, 15)
    assert exchanged(database) == Exchanged()
    sender.send(THERE, 14)
    assert exchanged(database) == Exchanged(sent=1, waiting=1)


def test_a_lost_acknowledgement_counts_nothing_twice(
    database: Database, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with acknowledgement_lost(database, monkeypatch):
        sender.send(THERE)
    with acknowledgement_lost(database, monkeypatch):
        assert sender.inboxes.open_parties(10) == 1
    assert exchanged(database) == Exchanged(sent=1, received=1)
    opened = Seeds(database).get(THERE)
    assert opened is not None
    assert (opened.seed.hops, opened.seed.base_depth, opened.seed.state) == (1, 1, SeedState.READY)


def test_the_owner_takes_out_what_its_checkpoint_says_and_nobody_else(database: Database, sender: Sender) -> None:
    add(database, "http://b.org/")
    owner = Worker.of(database, "owner")
    claimed = owner.claim_one()
    sender.send(THERE)
    sender.send("http://b.org/other")
    assert sender.inboxes.open_parties(10) == 0, "they are the owner's"
    (first, second) = sender.inboxes.of_sites(["b.org"], 10)["b.org"]
    owner.commit(site_delta(claimed, taken=(first.id,)))
    late = site_delta(claimed, taken=(second.id,))
    late.token -= 1
    assert owner.commit(late) == {claimed.id}
    assert exchanged(database) == Exchanged(sent=2, received=1, waiting=1)
    owner.commit(site_delta(claimed, taken=(first.id, second.id)))
    assert exchanged(database) == Exchanged(sent=2, received=2)


def test_a_party_that_had_ended_goes_on_and_its_owner_finds_the_url(database: Database, sender: Sender) -> None:
    number = _ended(database, "http://b.org/", EndReason.COMPLETED)
    sender.send(THERE)
    assert sender.inboxes.open_parties(10) == 1
    assert sender.inboxes.open_parties(10) == 0
    claimed = Worker.of(database, "next").claim_one()
    assert [(one.id, one.reopened) for one in claimed.seeds] == [(number, 1)]
    assert [one.url for one in sender.inboxes.of_sites([claimed.key], 10)["b.org"]] == [THERE]
    assert exchanged(database) == Exchanged(sent=1, waiting=1, reopened=1)


@pytest.mark.parametrize("reason", [EndReason.MAX_PAGES, EndReason.DEAD])
def test_a_party_at_a_limit_or_given_up_leaves_the_url_out(
    database: Database, sender: Sender, reason: EndReason
) -> None:
    number = _ended(database, "http://b.org/", reason)
    sender.send(THERE)
    sender.inboxes.open_parties(10)
    assert exchanged(database) == Exchanged(sent=1, received=1)
    assert Seeds(database).by_ids([number])[number].seed.state is SeedState.DONE
    assert Seeds(database).get(THERE) is None


def test_a_skipped_seed_goes_on_for_nobody(database: Database, sender: Sender) -> None:
    number = _ended(database, "http://b.org/", EndReason.COMPLETED)
    assert Picking(database).skip([number]) == Picked(done=1)
    sender.send(THERE)
    sender.inboxes.open_parties(10)
    assert exchanged(database) == Exchanged(sent=1, received=1)
    assert Seeds(database).by_ids([number])[number].seed.state is SeedState.DONE
    assert Seeds(database).get(THERE) is None


def test_what_is_fetched_already_wakes_nobody(database: Database, sender: Sender) -> None:
    number = _ended(database, "http://b.org/", EndReason.COMPLETED)
    row = page(sender.seed_id, THERE)
    sender.checkpoints.commit([site_delta(sender.site, seed_delta(sender.seed_id, pages=(row,)))])
    sender.send(THERE)
    sender.send("http://b.org/")
    assert sender.inboxes.open_parties(10) == 2
    assert exchanged(database) == Exchanged(sent=2, received=2)
    assert Seeds(database).by_ids([number])[number].seed.state is SeedState.DONE


def test_what_a_machine_that_is_gone_has_left_to_be_sent_goes_into_the_inbox(
    database: Database, sender: Sender
) -> None:
    add(database, "http://b.org/")
    owner = Worker.of(database, "owner")
    owner.claim_one()
    MachineOutbox(database, owner.id, "tcp").listen("tcp://127.0.0.1:1")
    sender.out.carry(Carried(sender.worker.id, "tcp"))
    assert not has_rows_of(database, "cluster")
    sender.send(THERE)
    assert has_rows_of(database, "cluster"), "a crawler without it would wait for this URL"
    boundary = CrawlBoundary(database, Boundary.ANY, Scope.HOST)
    inboxes = InboxesWithLeftovers(database, owner.id, Scope.HOST, boundary, 15)
    Machines(database).stop(sender.worker.id)
    assert inboxes.of_sites(["b.org"], 10) == {}
    inboxes.open_parties(10)
    assert [one.url for one in inboxes.of_sites(["b.org"], 10)["b.org"]] == [THERE]
    assert exchanged(database) == Exchanged(sent=1, waiting=1)


class Interrupted(Inboxes):
    """The inboxes as a machine sees them to which something happens between its reading of URLs and of parties."""

    def __init__(self, database: Database, meanwhile: Callable[[], object]) -> None:
        boundary = CrawlBoundary(database, Boundary.ANY, Scope.HOST)
        super().__init__(database, Worker.of(database, "interrupted").id, Scope.HOST, boundary, 15)
        self._meanwhile = meanwhile

    def _known(self, lone: Sequence[Lone]) -> set[int]:
        self._meanwhile()
        return super()._known(lone)


def test_a_party_that_another_machine_lets_go_on_meanwhile_is_no_site_given_up(
    database: Database, sender: Sender
) -> None:
    _ended(database, "http://b.org/", EndReason.COMPLETED)
    sender.send(THERE)
    Interrupted(database, lambda: sender.inboxes.open_parties(10)).open_parties(10)
    assert exchanged(database) == Exchanged(sent=1, waiting=1, reopened=1)
    assert [one.url for one in sender.inboxes.of_sites(["b.org"], 10)["b.org"]] == [THERE]


def test_what_is_taken_out_twice_takes_no_later_url_with_it(database: Database, sender: Sender) -> None:
    _ended(database, "http://b.org/", EndReason.COMPLETED)
    fetched = page(sender.seed_id, THERE)
    sender.checkpoints.commit([site_delta(sender.site, seed_delta(sender.seed_id, pages=(fetched,)))])
    sender.send(THERE)

    def meanwhile() -> None:
        sender.inboxes.open_parties(10)  # takes it out
        sender.send("http://b.org/later")

    Interrupted(database, meanwhile).open_parties(10)
    assert exchanged(database) == Exchanged(sent=2, received=1, waiting=1)
    assert [one.url for one in sender.inboxes.of_sites(["b.org"], 10)["b.org"]] == ["http://b.org/later"]


def test_two_machines_that_begin_a_site_at_once_have_one_seed(database: Database, sender: Sender) -> None:
    sender.send(THERE)
    Interrupted(database, lambda: sender.inboxes.open_parties(10)).open_parties(10)
    assert exchanged(database) == Exchanged(sent=1, received=1)
    assert len([*database.rows(select(seed.c.id))]) == 2


def test_of_several_urls_of_a_new_site_the_nearest_one_begins(database: Database, sender: Sender) -> None:
    sender.send("http://b.org/far", 5)
    sender.send("http://b.org/near", 1)
    sender.inboxes.open_parties(10)
    assert sender.inboxes.open_parties(10) == 0, "the site is ready: the rest waits for who claims it"
    near = Seeds(database).get("http://b.org/near")
    assert near is not None
    assert near.seed.base_depth == 2
    assert exchanged(database) == Exchanged(sent=2, received=1, waiting=1)


def test_what_is_sent_between_two_looks_keeps_a_crawl_open(sender: Sender) -> None:
    arrivals = Arrivals(sender.inboxes, 10)
    assert not arrivals.on_their_way()
    assert not arrivals.came_meanwhile()
    sender.send(THERE)
    assert arrivals.came_meanwhile()
    assert arrivals.on_their_way(), "it waits, and a party begins for it"
    assert not arrivals.on_their_way()
    assert not arrivals.came_meanwhile()


COMPLETED, LIMIT, COVERED = (one.value for one in (EndReason.COMPLETED, EndReason.MAX_PAGES, EndReason.COVERED))


@pytest.mark.parametrize(
    ("parties", "expected"),
    [
        ([], (Opening.NEW, 0)),
        ([(1, "/", "done", COMPLETED, 0)], (Opening.REOPEN, 1)),
        ([(1, "/", "done", COMPLETED, 3)], (Opening.NEW, 0)),  # no deeper than the party's own URL
        ([(1, "/", "done", COMPLETED, 3), (2, "/", "slow", None, 2)], (Opening.REOPEN, 2)),
        ([(1, "/", "done", LIMIT, 0)], (Opening.NONE, 0)),
        ([(1, "/", "active", None, 0)], (Opening.WAIT, 0)),  # another machine has let it go on meanwhile
        ([(1, "/", "done", COMPLETED, 0), (2, "/", "ready", None, 0)], (Opening.WAIT, 0)),
        ([(1, "/", "done", LIMIT, 0), (2, "/", "done", COMPLETED, 0)], (Opening.REOPEN, 2)),
        ([(1, "/", "done", COVERED, 0)], (Opening.NEW, 0)),
        ([(1, "/other/", "done", COMPLETED, 0)], (Opening.NEW, 0)),  # out of its prefix
    ],
)
def test_what_a_url_lets_go_on(
    parties: list[tuple[int, str, str, str | None, int]], expected: tuple[Opening, int]
) -> None:
    given = [Party(number, f"http://b.org{path}", *rest) for number, path, *rest in parties]  # type: ignore[arg-type]
    assert opening("http://b.org/x", 3, given, Scope.PREFIX) == expected


def test_a_crawl_of_the_version_before_exchanges_once_it_was_upgraded(database_url: str) -> None:
    texts = migration_texts(dialect_of(database_url))
    now = 1_790_000_000_000
    rows = (
        f"INSERT INTO crawl (id, name, scope, created_at) VALUES (1, 'crawl', 'host', {now})",
        "INSERT INTO site (id, key_hash, site_key, state) VALUES (1, {hash}, 'b.org', 'done')",
        "INSERT INTO seed (id, site_id, url, url_hash, state, end_reason, added_at)"
        f" VALUES (1, 1, 'http://b.org/', {{seed}}, 'done', 'completed', {now})",
    )
    hashes = {"hash": _literal(database_url, "b.org"), "seed": _literal(database_url, "http://b.org/")}
    engine = create_engine(database_url)
    with engine.begin() as connection:
        for text in (text for number, text in texts.items() if number <= BEFORE):
            for statement in statements(text):
                connection.exec_driver_sql(statement)
        for row in rows:
            connection.exec_driver_sql(row.format(**hashes))
        if dialect_of(database_url) == "postgresql":  # ids that were given are not counted
            for table in ("site", "seed"):
                connection.exec_driver_sql(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH 10")
    engine.dispose()
    upgrade_database(database_url)
    database = open_database(database_url)
    sender = Sender(database)
    sender.send(THERE)
    sender.inboxes.open_parties(10)
    assert exchanged(database) == Exchanged(sent=1, waiting=1, reopened=1)
    assert [*database.plain_rows(select(seed.c.reopened, seed.c.base_depth).where(seed.c.id == 1))] == [(1, 0)]
    assert [*database.plain_rows(select(site.c.state).where(site.c.id == 1))] == [("ready",)]
    assert [*database.plain_rows(select(inbox.c.url))] == [(THERE,)]
    database.close()


def _literal(url: str, text: str) -> str:
    written = url_hash(text).hex()
    return f"'\\x{written}'::bytea" if dialect_of(url) == "postgresql" else f"x'{written}'"


def test_what_was_sent_to_sites_that_have_moved_is_sent_again_once_as_from_its_nearest_finder(
    database: Database,
) -> None:
    add(database, "http://a.org/")
    add(database, "http://b.org/", hops=2)
    moved = [f"http://m{number}.org/x" for number in range(500)]
    with database.begin() as connection:
        for seed_id, depth in ((1, 4), (2, 3)):
            for url in (*moved, "http://stays.org/"):
                values = {"seed_id": seed_id, "url_hash": url_hash(url), "url": url, "depth": depth, "count": 1}
                connection.execute(insert(candidate).values(**values, promoted=SENT))
    mail = Mail(database, Worker.of(database).id, Scope.HOST)
    assert sum(mail.sending_again(lambda key: not key.startswith("stays"))) == len(moved)
    letters = mail.letters(0, 1_000)
    assert sorted(letter.url for letter in letters) == sorted(moved)
    assert {(letter.depth, letter.hops) for letter in letters} == {(4, 3)}
