from __future__ import annotations

from statistics import mean

import pytest

from scrawler.features.synthweb.pages import PageWriter
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target


def writer(seed: int = 1, page_bytes: int = 14_000) -> PageWriter:
    return PageWriter(
        SyntheticWeb(WebSpec(seed=seed, sites=3, mean_pages=200, equal=True, page_bytes=page_bytes), 8400)
    )


def bodies(pages: PageWriter) -> list[bytes]:
    web = SyntheticWeb(WebSpec(sites=3, mean_pages=200, equal=True), 8400)
    return [
        pages.answer(site, web.path(Target(site, kind, number))).body
        for site in range(3)
        for kind in (Kind.PAGE, Kind.FILE)
        for number in range(200)
    ]


def test_same_seed_same_bytes() -> None:
    assert bodies(writer()) == bodies(writer())


def test_other_seed_other_bytes() -> None:
    assert not set(bodies(writer(1))[:200]) & set(bodies(writer(2))[:200])


@pytest.mark.parametrize("page_bytes", [14_000, 32_000])
def test_pages_have_the_wanted_mean_size(page_bytes: int) -> None:
    pages = writer(page_bytes=page_bytes)
    sizes = [len(pages.answer(0, pages_path).body) for pages_path in page_paths()]
    assert mean(sizes) == pytest.approx(page_bytes, rel=0.1)
    assert max(sizes) > 2 * page_bytes


def page_paths() -> list[str]:
    web = SyntheticWeb(WebSpec(sites=3, mean_pages=200, equal=True), 8400)
    return [web.path(Target(0, Kind.PAGE, number)) for number in range(200)]


def test_pages_are_utf8_with_letters_beyond_ascii() -> None:
    text = writer().answer(0, "/").body.decode("utf-8")
    assert not text.isascii()


def test_robots_denies_on_some_sites_only() -> None:
    pages = writer()
    answers = [pages.answer(site, "/robots.txt") for site in range(3)]
    assert [answer.status for answer in answers] == [200, 404, 200]
    assert [b"/private/" in answer.body for answer in answers] == [True, False, False]


def test_files_are_what_their_names_say() -> None:
    pdf, png = writer().answer(0, "/files/2.pdf"), writer().answer(0, "/files/3.png")
    assert (pdf.content_type, pdf.body[:5]) == ("application/pdf", b"%PDF-")
    assert (png.content_type, png.body[:4]) == ("image/png", b"\x89PNG")
