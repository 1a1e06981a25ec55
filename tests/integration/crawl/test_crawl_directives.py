"""Pages that say what robots may do with them, links that are not to be followed, and which URL stands for a page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.model.results import PageFlag
from scrawler.model.seeds import EndReason
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.page_lists import PageLists
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, asked, by_path, end_details, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, answer

Serve = Callable[..., RawServer]

NOTHING, NOINDEX, NOFOLLOW = PageFlag(0), PageFlag.NOINDEX, PageFlag.NOFOLLOW
BOTH = NOINDEX | NOFOLLOW
TAG = "X-Robots-Tag"
SAYING: dict[str, tuple[str, tuple[str, ...], PageFlag]] = {  # body, headers, what it says
    "meta": ("<meta name=robots content='nofollow'>", (), NOFOLLOW),
    "meta-none": ("<META NAME=Robots CONTENT='NOARCHIVE,None'>", (), BOTH),
    "meta-to-us": ("<meta name=testcrawler content=nofollow>", (), NOFOLLOW),
    "meta-to-another": ("<meta name=otherbot content=none>", (), NOTHING),
    "meta-noindex": ("<meta name=robots content=noindex>", (), NOINDEX),
    "meta-expired": ("<meta name=robots content='unavailable_after: 25 Jun 2010 15:00:00 PST'>", (), NOINDEX),
    "meta-twice": ("<meta name=robots content=noindex><meta name=robots content='all, nofollow'>", (), BOTH),
    "header": ("", (f"{TAG}: noindex, nofollow",), BOTH),
    "header-to-us": ("", (f"{TAG}: otherbot: noindex", f"{TAG}: TestCrawler: nofollow"), NOFOLLOW),
    "header-to-another": ("", (f"{TAG}: otherbot: noindex, nofollow",), NOTHING),
    "both": ("<meta name=robots content=nofollow>", (f"{TAG}: noindex",), BOTH),
    "nothing": ("", (), NOTHING),
}


def saying(name: str) -> bytes:
    """A page with a directive, a link, a frame and a refresh inside the site, and a link out."""
    body, headers, _ = SAYING[name]
    inside = f"<meta http-equiv=refresh content='9; /{name}/r'><iframe src='/{name}/f'></iframe>"
    return page(body + inside, *headers, links=(f"/{name}/a", f"http://{name}.example/"))


PDF = answer(b"%PDF-1.4", "200 OK", "Content-Type: application/pdf", f"{TAG}: none")
SITE: dict[str, Reply] = {
    "/": page(links=(*(f"/{name}" for name in SAYING), "/file.pdf", "/moved")),
    **{f"/{name}": saying(name) for name in SAYING},
    "/file.pdf": PDF,
    "/moved": answer(b"", "302 Found", "Location: /target", f"{TAG}: none"),
    "/target": page("the target"),
}


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_what_pages_say_is_recorded_and_obeyed(crawl: Crawl, serve: Serve, profile: str) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url()])
    run_whole(crawl, profile=profile)
    heeded = {name for name, (_, _, said) in SAYING.items() if said & NOFOLLOW}
    followed = set(SAYING) - heeded
    assert {path for path in asked(server) if path[-2:] in ("/a", "/f", "/r")} == {
        f"/{name}/{link}" for name in followed for link in "afr"
    }
    assert crawl.candidates() == {f"http://{name}.example/" for name in followed}
    rows = {row.url: row for row in crawl.pages()}
    assert {name: PageFlag(rows[server.url(f"/{name}")].flags) for name in SAYING} == {
        name: said for name, (_, _, said) in SAYING.items()
    }
    assert all(rows[server.url(f"/{name}")].warc_length for name in SAYING)  # archived, whatever they say
    assert rows[server.url("/file.pdf")].flags == BOTH
    assert (rows[server.url("/moved")].flags, server.url("/target") in rows) == (0, True)
    seed = crawl.seed(server.url())
    assert seed.counts.nofollow == len(heeded) + 1
    assert seed.counts.noindex == sum(bool(said & NOINDEX) for _, _, said in SAYING.values()) + 1
    assert seed.verdicts["nofollow"] == 4 * len(heeded)


def test_what_pages_say_is_recorded_even_if_it_is_not_obeyed(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url()])
    run_whole(crawl, obey_meta=False)
    assert {f"/{name}/{link}" for name in SAYING for link in "afr"} <= set(asked(server))
    seed = crawl.seed(server.url())
    assert (seed.counts.nofollow, seed.counts.noindex, seed.verdicts.get("nofollow")) == (8, 7, None)


def test_a_seed_whose_page_forbids_to_follow_its_links_is_a_party_of_one_page(crawl: Crawl, serve: Serve) -> None:
    servers = {name: serve(by_path({"/": saying(name)})) for name in ("header", "nothing")}
    crawl.add(server.url() for server in servers.values())
    run_whole(crawl)
    seeds = {name: crawl.seed(server.url()) for name, server in servers.items()}
    details = end_details(crawl)
    assert {seed.end_reason for seed in seeds.values()} == {EndReason.COMPLETED}
    assert (seeds["header"].counts.pages, seeds["header"].counts.listed) == (1, 1)
    assert details[servers["header"].url()].startswith("4 links of its only page are not followed")
    assert details[servers["nothing"].url()] == ""


MARKED = page(
    "<a rel=nofollow href=/n>x</a><a rel='noopener UGC' href=/u>x</a><a rel=sponsored href='http://ads.example/'>x</a>"
    "<a rel='nofollow ugc' href='http://spam.example/'>x</a><a href=/plain rel=noopener>x</a>"
)


@pytest.mark.parametrize(
    ("profile", "nofollow", "left_out"),
    [("default", (), set()), ("default", ("nofollow", "sponsored"), {"/n", "ads", "spam"}),
     ("classic", ("ugc",), {"/u", "spam"})],
)  # fmt: skip
def test_links_are_left_out_for_their_rel(
    crawl: Crawl, serve: Serve, profile: str, nofollow: tuple[str, ...], left_out: set[str]
) -> None:
    server = serve(by_path({"/": MARKED} | {path: page(path) for path in ("/n", "/u", "/plain")}))
    crawl.add([server.url()])
    run_whole(crawl, profile=profile, nofollow=nofollow)
    assert set(asked(server)) == {"/robots.txt", "/", "/n", "/u", "/plain"} - left_out
    assert crawl.candidates() == {f"http://{name}.example/" for name in {"ads", "spam"} - left_out}
    assert crawl.seed(server.url()).verdicts.get("nofollow", 0) == len(left_out)


def canonical(*hrefs: str) -> str:
    return "".join(f'<link rel=canonical href="{href}">' for href in hrefs)


def link(*targets: str) -> str:
    return "Link: " + ", ".join(f'<{target}>; rel="canonical"' for target in targets)


RELATED: dict[str, tuple[bytes, str]] = {  # what a page calls canonical: path on its own site, URL, or nothing
    "/own": (page(canonical("/own")), ""),
    "/own-fragment": (page(canonical("#top")), ""),
    "/other": (page(canonical("./b.html?x=1#y")), "/b.html?x=1"),
    "/away": (page(canonical("HTTP://Away.Example")), "http://away.example/"),
    "/base": (page("<base href='http://cdn.example/d/'>" + canonical("e"), link("f")), ""),  # two, different
    "/base-alone": (page("<base href='http://cdn.example/d/'>" + canonical("e")), "http://cdn.example/d/e"),
    "/twice": (page(canonical("/same", "/same#x"), link("same")), "/same"),
    "/two": (page(canonical("/one", "/other-one")), ""),
    "/own-and-other": (page(canonical("/own-and-other", "/one")), ""),
    "/many": (page(canonical(*["/one"] * 5_000)), ""),
    "/in-body": (page("<p>text" + canonical("/one")), ""),
    "/no-url": (page(canonical("javascript:x", "http://[")), ""),
    "/header": (page("", 'Link: </style.css>; rel=preload; as=style, </one>; rel="canonical"'), "/one"),
    "/report.pdf": (answer(b"%PDF", "200 OK", "Content-Type: application/pdf", link("/report")), "/report"),
    "/nofollow": (page(canonical("/one") + "<meta name=robots content=nofollow>"), "/one"),
}
REDIRECTS = {"/inside": "/own", "/file": "/setup.exe", "/out": "http://away.example/x", "/self": "/self"}


def relations(crawl: Crawl) -> dict[tuple[str, str], str]:
    """(URL of the page, kind) -> target."""
    database = open_database(crawl.url)
    query = "SELECT page.url, relation.kind, relation.target FROM relation JOIN page USING (url_hash)"
    with database.read() as connection:
        found = {(url, kind): target for url, kind, target in connection.exec_driver_sql(query)}
    database.close()
    return found


def test_canonical_urls_and_redirects_are_recorded(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl = crawl_on_both
    paths = [*RELATED, *REDIRECTS]
    server = serve(by_path(
        {"/": page(links=tuple(paths))}
        | {path: reply for path, (reply, _) in RELATED.items()}
        | {path: redirect(target) for path, target in REDIRECTS.items()}
    ))  # fmt: skip
    seed = server.url()
    crawl.add([seed])
    run_whole(crawl)

    def whole(target: str) -> str:
        return server.url(target) if target.startswith("/") else target

    expected = {(server.url(path), "canonical"): whole(target) for path, (_, target) in RELATED.items() if target}
    expected |= {(server.url(path), "redirect"): whole(to) for path, to in REDIRECTS.items() if to != path}
    assert relations(crawl) == expected
    assert {"http://away.example/", "http://away.example/x"} <= crawl.candidates()  # links as others
    database = open_database(crawl.url)
    shown = {view.page.url: view.canonical for view in PageLists(database).all() if view.canonical}
    database.close()
    assert shown == {url: target for (url, kind), target in expected.items() if kind == "canonical"}


def test_the_redirects_of_a_seed_are_relations_too(crawl: Crawl, serve: Serve) -> None:
    home = serve(by_path({"/": page("home")}), "127.0.0.2")
    server = serve(by_path({"/": redirect("/start"), "/start": redirect(home.url())}))
    crawl.add([server.url()])
    run_whole(crawl)
    assert relations(crawl) == {
        (server.url(), "redirect"): server.url("/start"),
        (server.url("/start"), "redirect"): home.url(),
    }
