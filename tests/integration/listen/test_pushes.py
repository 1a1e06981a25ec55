"""What `scrawler listen` keeps: URLs and quotas, proofs, keys, subscriptions, owners, and signs of life."""

from __future__ import annotations

import threading
from math import inf

from scrawler.features.push.store.owners import Owners
from scrawler.features.push.store.pushes import KnownSite, Pushes, listeners, tallies, waiting
from scrawler.features.push.store.subscriptions import ACTIVE, ASKED, LEAVING, Subscriptions
from scrawler.model.scope import Scope
from scrawler.model.servers import Reserved
from scrawler.model.windows import Window
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import Database

HOME = "http://a.example/"


def site_of(database: Database, pushes: Pushes) -> KnownSite:
    """Return a site with a seed."""
    Crawls(database).open("crawl", Scope.HOST)
    Seeds(database).add([NewSeed(HOME, "a.example", 0)])
    found = pushes.site("a.example")
    assert found is not None
    return found


def urls(database: Database, condition: str = "1 = 1") -> list[str]:
    with database.read() as connection:
        return list(connection.exec_driver_sql(f"SELECT url FROM pushed WHERE {condition} ORDER BY url").scalars())


def test_urls_are_kept_once_and_within_the_quota(database: Database) -> None:
    pushes = Pushes(database, per_day=3, waiting=100)
    site = site_of(database, pushes)
    assert pushes.site("b.example") is None
    assert pushes.accept(site, [HOME + "1", HOME + "1", HOME + "2"], "ping") == (2, 0)
    assert pushes.accept(site, [HOME + "2", HOME + "3", HOME + "4"], "indexnow") == (2, 1)
    assert pushes.accept(site, [HOME + "5"], "ping") == (0, 1)
    assert urls(database) == [HOME + "1", HOME + "2", HOME + "3"]
    pushes.refused({(0, "ping"): 7, (site.id, "indexnow"): 2})
    assert [tuple(one) for one in tallies(database)] == [("indexnow", 1, 3, 0), ("ping", 2, 8, 0)]
    assert waiting(database) == 3


def test_what_is_not_proved_waits_apart(database: Database) -> None:
    pushes = Pushes(database, per_day=100, waiting=100)
    site = site_of(database, pushes)
    assert pushes.accept_unproved(site, [HOME + "1", HOME + "2"], "indexnow", "mine").accepted == 2
    assert pushes.accept_unproved(site, [HOME + "3"], "indexnow", "forged").accepted == 1
    assert sorted(pushes.unproved()) == [("a.example", "forged"), ("a.example", "mine")]
    assert urls(database, "proof = ''") == []
    pushes.accept(site, [HOME + "3"], "ping")  # by somebody who may
    pushes.proved(site, "indexnow", "mine", True)
    pushes.proved(site, "indexnow", "forged", False)
    assert urls(database, "proof = ''") == [HOME + "1", HOME + "2", HOME + "3"]
    assert pushes.unproved() == []


def test_several_listeners_keep_the_quota_together(database: Database) -> None:
    pushes = Pushes(database, per_day=10, waiting=100)
    site = site_of(database, pushes)
    accepted: list[int] = []

    def send(number: int) -> None:
        some = [f"{HOME}{number}-{index}" for index in range(3)]
        accepted.append(Pushes(database, per_day=10, waiting=100).accept(site, some, "ping").accepted)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(accepted) == len(urls(database)) == 10


def test_keys_are_found_by_their_hash(database: Database) -> None:
    pushes = Pushes(database, 1, 1)
    site = site_of(database, pushes)
    pushes.add_key(site, "a.example", b"k" * 32)
    assert pushes.key_site(b"k" * 32) == site.id
    assert pushes.key_site(b"x" * 32) is None
    pushes.key_used(b"k" * 32)
    assert [(one.name, one.host, one.used_at > 0) for one in pushes.all_keys()] == [("6b" * 6, "a.example", True)]
    assert pushes.remove_keys("b.example") == 0
    assert pushes.remove_keys("6b" * 6) == 1
    assert pushes.key_site(b"k" * 32) is None


def test_a_subscription_changes_from_the_state_that_is_known_alone(database: Database) -> None:
    site = site_of(database, Pushes(database, 1, 1))
    kept = Subscriptions(database)
    kept.want(site.id, HOME + "feed", "http://hub.example/", "http://me/websub/t", "t", "s")
    (one,) = kept.due()
    assert (one.state, kept.by_token("t"), kept.by_token("x")) == (ASKED, one, None)
    assert kept.change(one, {"state": ACTIVE}, after={"lease_until": 1_000, "next_at": 500})
    assert not kept.change(one, {"state": ACTIVE})  # somebody else was before
    assert kept.due() == [] or kept.due()[0].state == ACTIVE
    assert kept.leave(HOME + "feed")
    assert not kept.leave(HOME + "feed")
    (one,) = kept.due()
    assert one.state == LEAVING
    kept.want(site.id, HOME + "feed", "http://hub.example/", "http://me/websub/u", "u", "s")
    assert [(one.state, one.token) for one in kept.all()] == [(ASKED, "u")]


def test_owners_and_what_they_submitted(database: Database) -> None:
    pushes = Pushes(database, 100, 100)
    site, owners = site_of(database, pushes), Owners(database)
    owners.proved(site.id, "a.example", b"t" * 32, "file")
    owners.proved(site.id, "a.example", b"t" * 32, "dns")
    owner = owners.by_token(b"t" * 32)
    assert owner is not None
    assert (owner.host, owner.proof, owner.window) == ("a.example", "dns", None)
    owners.set_window(site.id, Window(60, 120))
    assert pushes.site("a.example") == site._replace(window=Window(60, 120))
    pushes.accept(site, [HOME + "1"], "owner")
    owners.submitted(owner, [HOME + "1", HOME + "1"])
    owners.submitted(owner, [f"{HOME}{number}" for number in range(1_200)])
    report = owners.report(owner)
    assert (report.waiting, len(report.submitted), report.failed) == (1, 200, [])
    assert {one.state for one in report.submitted} == {"waiting"}
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM submission").scalar() == 1_000


def test_a_listener_is_alive_until_it_ends(database: Database) -> None:
    pushes = Pushes(database, 1, 1)
    assert listeners(database) == []
    number = pushes.begin("http://127.0.0.1:1")
    pushes.beat(number)
    assert [(one.alive, one.stopped) for one in listeners(database)] == [(True, False)]
    pushes.beat(number, ended=True)
    assert [(one.alive, one.stopped) for one in listeners(database)] == [(False, True)]


def test_the_clock_of_a_site_that_nobody_has_holds_for_the_listener_and_whoever_comes(database: Database) -> None:
    pushes = Pushes(database, 1, 1)
    site_of(database, pushes)
    assert pushes.reserve("unknown.example", 100.0) == (0.0, 0)
    reserved = pushes.reserve("a.example", 100.0)
    assert reserved.wait == 0.0
    assert 0 < pushes.reserve("a.example", 100.0).wait <= 100, "no other listener asks at the same time"
    pushes.asked("a.example", Reserved(0.0, reserved.until - 1), 0.0)  # of an earlier one
    assert 0 < pushes.reserve("a.example", 100.0).wait <= 100
    pushes.asked("a.example", reserved, 0.0)
    again = pushes.reserve("a.example", 100.0)
    assert again.wait == 0.0, "what was left of the time was given back"
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE site SET owner = 7")
    pushes.asked("a.example", again, 0.0)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT next_due_at FROM site").scalar() == again.until
    assert pushes.reserve("a.example", 100.0).wait == inf, "a machine has it in work"
