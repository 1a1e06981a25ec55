"""Links of pages in other encodings than UTF-8 ask for what a browser would ask for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import asked, by_path, page, run_whole
from tests.integration.fetch.servers import RawServer, answer

Serve = Callable[..., RawServer]

HTML = """<head><meta charset=gbk><base href="/d/?中"><link rel=canonical href="/canonical?中">
<meta http-equiv=refresh content="9;url=/refreshed?中"></head>
<a href="s?q=中文&amp;r=&eacute;">1</a><a href="/中?☃#中">2</a><iframe src="/frame?中"></iframe><a href="">3</a>
<a rel=nofollow href="/unfollowed?中">4</a><img src="/image.png?中">"""
SITEMAP = '<?xml version="1.0" encoding="gbk"?><urlset><url><loc>{}</loc></url></urlset>'
ASKED = {
    "/", "/robots.txt", "/sitemap.xml", "/d/?%D6%D0", "/d/s?q=%D6%D0%CE%C4&r=%A8%A6", "/%E4%B8%AD?%26%239731%3B",
    "/canonical?%D6%D0", "/refreshed?%D6%D0", "/frame?%D6%D0", "/image.png?%D6%D0",
    "/target?%E4%B8%AD", "/listed?%E4%B8%AD",
}  # fmt: skip


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_links_have_their_page_s_encoding_and_nothing_else_has(crawl: Crawl, serve: Serve, profile: str) -> None:
    html = HTML.replace("☃", "&#9731;").encode("gbk")
    moved = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /target?中\r\n\r\n".encode()
    server = serve(by_path({}))
    listed = answer(SITEMAP.format(server.url("/listed?中")).encode("gbk"), "200 OK", "Content-Type: text/xml")
    server.script = by_path({"/": page(html), "/frame?%D6%D0": moved, "/sitemap.xml": listed})
    crawl.add([server.url()])
    run_whole(crawl, profile=profile, assets=True, nofollow=["nofollow"], sitemaps="also")
    assert set(asked(server)) == ASKED
    database = open_database(crawl.url)
    with database.read() as connection:
        targets = connection.exec_driver_sql("SELECT target FROM relation WHERE kind = 'canonical'").fetchall()
        refused = connection.exec_driver_sql("SELECT url FROM rejection WHERE reason = 'nofollow'").fetchall()
    database.close()
    assert [target for (target,) in targets] == [server.url("/canonical?%D6%D0")]
    assert [url for (url,) in refused] == [server.url("/unfollowed?%D6%D0")]
