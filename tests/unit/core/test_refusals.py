"""When a row of refusals is held to be the site's, and which pause is kept after a refusal."""

from __future__ import annotations

import gzip

import pytest

from scrawler.archive.record import digest
from scrawler.core.party.pace import Pace
from scrawler.core.party.refusals import Refusals, Says, is_refusal
from scrawler.fetch.downloader import Request, Response
from scrawler.model.replaced import EarlierPages
from scrawler.model.results import Result

WALL = b"<title>Just a moment...</title>" + b"<p>Checking your browser. " * 100


def answer(body: bytes, status: int = 200, path: str = "/a", **headers: str) -> Response:
    request = Request(f"http://a.org{path}", "127.0.0.1")
    result = Result.FETCHED if status < 300 else Result.HTTP_ERROR
    return Response(request, result, status, headers=headers, body=body)


def read_all(bodies: list[bytes], was: list[bytes] | None = None) -> list[Says]:
    refusals = Refusals()
    refusals.take_good(answer(b"<p>a page of its own"), None)
    known = was or [None] * len(bodies)
    return [refusals.read(answer(body), True, old) for body, old in zip(bodies, known, strict=True)]


@pytest.mark.parametrize(("status", "refuses"), [(401, 1), (403, 1), (418, 1), (451, 1), (999, 1), (404, 0), (500, 0)])
def test_a_status_refuses_that_is_not_about_the_url(status: int, refuses: int) -> None:
    assert is_refusal(status) == bool(refuses)


def test_one_page_under_many_urls_is_a_refusal_from_the_second_on() -> None:
    assert read_all([WALL] * 3) == [Says.WELL, Says.REFUSES, Says.REFUSES]


def test_a_wall_that_names_the_request_in_each_answer_is_one_page() -> None:
    rays = [WALL + b"<code>%016x</code>" % (7 + number) for number in range(5)]
    assert read_all(rays)[2:] == [Says.REFUSES] * 3
    assert read_all([gzip.compress(WALL, mtime=0)] * 3)[1:] == [Says.REFUSES] * 2


def test_pages_that_differ_in_a_number_are_not_one_page() -> None:
    assert read_all([b"<p>page %d of 300" % number for number in range(100, 120)]) == [Says.WELL] * 20


def test_pages_of_one_length_with_one_end_are_not_one_page() -> None:
    """The first two of them may be, as the first one is not looked at."""
    pages = [b"<p>page %d, and more words</p>" % number + b"." * 200 for number in range(5)]
    assert read_all(pages) == [Says.WELL, Says.REFUSES, *[Says.WELL] * 3]


def before(body: bytes) -> EarlierPages:
    return EarlierPages("http://a.org/good", digest(body), len(body), "http://a.org/last")


def test_a_good_page_is_known_from_before_where_a_site_is_taken_up_again() -> None:
    own = b"<p>a page of its own" * 50
    refusals = Refusals(before(own))
    assert [refusals.read(answer(WALL, path=f"/{n}"), True, None) for n in range(3)][1:] == [Says.REFUSES] * 2
    assert refusals.firsts == ("http://a.org/0", "http://a.org/last")
    assert refusals.still_refuses(answer(WALL, path="/good"))
    assert not refusals.still_refuses(answer(own, path="/good"))


@pytest.mark.parametrize("shell", [WALL, WALL + b"<code>0123456789abcdef</code>"])
def test_one_page_for_all_urls_before_and_after_is_no_refusal(shell: bytes) -> None:
    """It may have something of its own each time; where it has nothing, no page need be asked for again."""
    exactly = Refusals(before(shell))
    assert [exactly.read(answer(shell, path=f"/{n}"), True, None) for n in range(3)] == [Says.WELL] * 3
    refusals = Refusals(before(shell))
    now = shell.replace(b"0123", b"4567").replace(b"Checking", b"checking")
    assert [refusals.read(answer(now, path=f"/{n}"), True, None) for n in range(3)][1:] == [Says.REFUSES] * 2
    assert not refusals.still_refuses(answer(now, path="/good"))
    assert refusals.read(answer(now, path="/4"), True, None) is Says.WELL


def test_one_page_is_no_refusal_where_all_urls_had_it_before() -> None:
    same = [b"1" * 20] * 4
    own = [bytes([number]) * 20 for number in range(4)]
    assert read_all([WALL] * 4, same) == [Says.WELL] * 4
    assert read_all([WALL] * 4, own)[1:] == [Says.REFUSES] * 3


def test_one_page_is_no_refusal_where_the_home_page_was_it_too() -> None:
    """Nor where it names the URLs, as a shell does that has the links of all pages."""
    refusals = Refusals()
    paths = [f"/page-{number}" for number in range(4)]
    shell = "".join(f"<a href={path}>" for path in paths).encode() + WALL
    assert refusals.read(answer(shell, path="/"), True, None) is Says.WELL
    refusals.take_good(answer(shell, path="/"), None, below=False)
    assert refusals.good == ""
    assert [refusals.read(answer(shell, path=path), True, None) for path in paths] == [Says.WELL] * 4


def test_what_is_missing_is_no_good_page() -> None:
    refusals = Refusals()
    refusals.take_good(answer(b"not here", 404, "/missing"), None)
    refusals.take_good(answer(b"<p>a page", path="/page"), None)
    assert refusals.good.endswith("/page")


def test_a_good_page_tells_who_is_refused() -> None:
    refusals = Refusals()
    good = answer(b"<p>a page of its own", path="/good")
    refusals.take_good(good, None)
    for path in "/1", "/2", "/3":
        refusals.read(answer(WALL, path=path), True, None)
    assert refusals.good == good.request.url
    assert not refusals.still_refuses(good)
    assert not refusals.still_refuses(answer(b"<p>it has changed meanwhile"))
    assert refusals.still_refuses(answer(WALL, path="/good"))
    assert refusals.still_refuses(answer(b"", 403))
    assert not refusals.still_refuses(answer(b"", 404))


def test_refusals_are_believed_for_longer_each_time() -> None:
    refusals, believed = Refusals(), []
    for _ in range(4):
        refusals.believe()
        believed.append(next(number for number in range(1_000) if not refusals.is_believed()))
    assert believed == [16, 32, 64, 64]


def test_the_pause_that_worked_is_kept_and_shortened() -> None:
    """A host that takes a request every half a second refuses few of a thousand, once the pause is found."""
    pace, refused, pauses = Pace(), 0, []
    for number in range(1_000):
        pauses.append(pace.pause)
        if pace.pause < 0.5 and not pace.rest and number:
            refused += 1
            pace.refuse(10.0, 0.0, doubtful=False)
        else:
            pace.serve()
    assert refused <= 15
    assert max(pauses[100:]) <= 1.0


def test_a_fault_of_single_pages_slows_a_site_down_but_little() -> None:
    """Every twentieth page answers 503, at whatever pace."""
    pace, waited = Pace(), 0.0
    for number in range(2_000):
        waited += max(1.0, pace.pause)
        if number % 20 == 0:
            pace.refuse(10.0, 1.0, doubtful=True)
        else:
            pace.serve()
            if pace.is_over(1.0):
                pace = Pace()
    assert waited < 1.5 * 2_000
