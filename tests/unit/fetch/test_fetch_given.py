"""Cookies of a file: which of them a request gets, and at what cost."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from scrawler.fetch.given import GivenCookies, read_cookies

CALLS = 300


def cookies_of(tmp_path: Path, *lines: str) -> GivenCookies:
    file = tmp_path / "cookies.txt"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return read_cookies(file)


def test_cookies_of_a_host_and_of_domains_above_it_go_together_the_longest_path_first(tmp_path: Path) -> None:
    given = cookies_of(
        tmp_path,
        "a.e.b.example\tFALSE\t/\tFALSE\t0\thost\t1",
        ".e.b.example\tTRUE\t/x\tFALSE\t0\tdomain\t2",
        ".c.example\tTRUE\t/\tFALSE\t0\tother\t3",
        ".b.example\tTRUE\t/\tFALSE\t0\tabove\t4",
        "e.b.example\tFALSE\t/\tFALSE\t0\talone\t5",
    )
    assert given.header("http", "a.e.b.example", "/x") == "domain=2; host=1; above=4"
    assert given.header("http", "e.b.example", "/") == "above=4; alone=5"


def test_bytes_of_a_cookie_are_sent_as_they_stand_in_the_file(tmp_path: Path) -> None:
    given = cookies_of(tmp_path, "a.example\tFALSE\t/\tFALSE\t0\tn\t\u00e9\u4e2d\u2028\u0085")
    assert given.header("http", "a.example", "/").encode("latin-1") == b"n=" + "\u00e9\u4e2d\u2028\u0085".encode()


def test_cookies_of_other_hosts_cost_a_request_nothing(tmp_path: Path) -> None:
    own = "www.a.example\tFALSE\t/\tFALSE\t0\tn\tv"
    others = [f"h{number}.example\tFALSE\t/\tFALSE\t0\tn\tv" for number in range(20_000)]

    def cpu(given: GivenCookies) -> float:
        begun = process_time()
        for _ in range(CALLS):
            assert given.header("https", "www.a.example", "/") == "n=v"
            hash(given)
        return process_time() - begun

    assert cpu(cookies_of(tmp_path, own, *others)) < 50 * cpu(cookies_of(tmp_path, own)) + 0.01


def test_the_same_cookies_are_equal_and_show_no_value(tmp_path: Path) -> None:
    line = "a.example\tFALSE\t/\tFALSE\t0\tn\ttopsecret"
    given = cookies_of(tmp_path, line)
    assert given == cookies_of(tmp_path, line)
    assert given != cookies_of(tmp_path, line, line)
    assert "topsecret" not in repr(given)
