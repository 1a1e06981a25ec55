"""Which key file is read next, while somebody names files that cannot be had."""

from __future__ import annotations

from scrawler.features.push.proof import Proof
from scrawler.features.push.proof_queue import ProofQueue, Wanted
from scrawler.features.push.store.pushes import KnownSite

SITE = KnownSite(1, "example.org", ("http://example.org/",), None)
OTHER = KnownSite(2, "example.net", ("http://example.net/",), None)
HANGS = 20.0  # seconds until a file that cannot be had is given up
PAUSES = (5.0, 60.0, 600.0, 1_800.0)


def usual(key: str, host: str = "example.org") -> Proof:
    return Proof(key, f"http://{host}/{key}.txt")


def elsewhere(number: int, host: str = "example.org") -> Proof:
    return Proof(f"forged-{number:02}", f"http://{host}/slow?{number}")


def queue(threads: int = 4) -> ProofQueue:
    return ProofQueue(of_a_site=20, of_a_sender=5, threads=threads)


def flooded(host: str = "example.org", threads: int = 4) -> ProofQueue:
    """Return a queue into which four senders have put what they may: 20 files that cannot be had."""
    made = queue(threads)
    assert [made.add(elsewhere(number, host), SITE, f"192.0.2.{number % 4}") for number in range(30)].count(True) == 20
    return made


def test_a_sender_has_few_places_of_a_site() -> None:
    made = queue()
    assert [made.add(elsewhere(number), SITE, "192.0.2.1") for number in range(8)] == [True] * 5 + [False] * 3
    assert made.add(elsewhere(0), SITE, "192.0.2.1"), "it waits already"
    assert made.add(elsewhere(9), OTHER, "192.0.2.1"), "another site"
    assert made.add(elsewhere(9), SITE, "192.0.2.2"), "another sender"
    assert not made.add(elsewhere(7), SITE, "192.0.2.1")


def test_a_file_at_its_usual_place_goes_before_those_elsewhere() -> None:
    made = flooded()
    held = made.next(0.0)
    assert held is not None
    assert made.next(0.0) is None, "a site is asked for one file at a time"
    assert made.add(usual("honest-key"), SITE, "198.51.100.1")
    made.failed(held, HANGS + PAUSES[0])
    honest = made.next(HANGS)
    assert honest is not None
    assert honest.proof == usual("honest-key")


def test_another_host_of_the_site_goes_first_and_has_a_place() -> None:
    made = flooded(host="black.example.org")
    held = made.next(0.0)
    assert held is not None
    honest = elsewhere(99, "www.example.org")
    last = elsewhere(98, "black.example.org")
    assert made.add(last, SITE, "198.51.100.2"), "the one that is looked at has left its place"
    assert not made.add(elsewhere(97, "black.example.org"), SITE, "198.51.100.2")
    assert made.add(honest, SITE, "198.51.100.1")
    assert last not in made, "it has given way"
    made.failed(held, HANGS)
    wanted = made.next(HANGS)
    assert wanted is not None
    assert wanted.proof == honest


def test_what_could_not_be_had_holds_no_place_and_waits_behind_what_is_new() -> None:
    made, now = flooded(), 0.0
    for _ in range(20):
        wanted = made.next(now)
        assert wanted is not None
        assert wanted.tries == 0, "no second try before all have had a first one"
        now += HANGS
        assert made.failed(wanted, now + PAUSES[0]) is None
    assert made.add(elsewhere(50), SITE, "192.0.2.0"), "there is room again, though all of them still wait"
    wanted = made.next(now)
    assert wanted is not None
    assert wanted.proof == elsewhere(50)
    gone = made.failed(wanted, now + HANGS)
    assert gone is not None, "of those that could not be had no more are kept than a site may have"
    assert gone.proof not in made


def given_up_after(made: ProofQueue, now: float) -> float:
    """Try all that waits until nothing does; return when that is."""
    while True:
        wanted = made.next(now)
        if wanted is None:
            if not any(elsewhere(number) in made for number in range(60)):
                return now
            now += 1
            continue
        now += HANGS
        if wanted.tries >= len(PAUSES):
            made.done(wanted, answered=False)
        else:
            made.failed(wanted, now + PAUSES[wanted.tries])


def test_all_is_given_up_in_the_end_and_nothing_of_it_is_kept() -> None:
    made = flooded()
    assert given_up_after(made, 0.0) < 2 * 3600
    assert made.next(1e9) is None
    assert not made._sites
    assert not made._queued


def test_sites_in_trouble_leave_a_thread_to_the_others() -> None:
    made = queue(threads=3)
    sites = [KnownSite(number, f"s{number}.example", (), None) for number in range(6)]
    for site in sites[:4]:
        made.add(elsewhere(1, site.key), site, "192.0.2.1")
        made.add(elsewhere(2, site.key), site, "192.0.2.1")
        wanted = made.next(0.0)
        assert wanted is not None
        made.failed(wanted, 0.0)
    held = [made.next(1.0), made.next(1.0), made.next(1.0)]
    assert [one is not None for one in held] == [True, True, False], "the third thread takes none of them"
    made.add(usual("a", "s5.example"), sites[5], "198.51.100.1")
    wanted = made.next(1.0)
    assert wanted is not None
    assert wanted.site == sites[5]
    made.done(wanted)


def test_a_site_that_a_machine_has_is_left_alone_for_a_while() -> None:
    made = queue()
    made.add(usual("one"), SITE, "")
    made.add(usual("two"), SITE, "")
    wanted = made.next(0.0)
    assert isinstance(wanted, Wanted)
    made.put_back(wanted, due=2.0)
    assert made.next(1.9) is None
    assert made.next(2.0) is not None
