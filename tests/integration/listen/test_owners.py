"""Owners: how they show that a site is theirs, what they may ask for, and what somebody else may not."""

from __future__ import annotations

import html
import re
from contextlib import closing

import pytest

from scrawler.features.push import owners as desk
from scrawler.features.push.owners import challenge_of
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.hostile import page
from tests.integration.listen.conftest import Rig, Site

SCRIPT = "<script>alert(1)</script>"


def begin(rig: Rig) -> str:
    """Return a new token for the site."""
    answer = rig.post_form("/submit/start", {"site": rig.server.url("/")})
    assert answer.status == 200
    found = re.search(rb'name="token" value="([^"]+)"', answer.body)
    assert found is not None
    return found[1].decode()


def submit(rig: Rig, token: str, *paths: str, proof: str = "file", window: str = "") -> tuple[int, str]:
    """Submit paths; return the status, and the page."""
    urls = "\n".join(rig.server.url(path) for path in paths)
    fields = {"token": token, "site": rig.server.url("/"), "urls": urls, "proof": proof, "window": window}
    answer = rig.post_form("/submit", fields)
    return answer.status, html.unescape(answer.body.decode())


def test_a_file_shows_whose_a_site_is(rig: Rig, site: Site) -> None:
    with rig.listening():
        token = begin(rig)
        assert submit(rig, token, "/mine")[0] == 403
        site.paths["/.well-known/scrawler.txt"] = page(f"other\n{challenge_of(token, rig.host)}\n")
        status, text = submit(rig, token, "/mine", "/other")
        assert (status, rig.pushed()) == (200, {"/mine", "/other"})
        assert "2 accepted" in text
        assert submit(rig, token, "/more")[0] == 200  # it is not looked at again
        assert site.asked.count("/.well-known/scrawler.txt") == 2
        state = rig.post_form("/submit/state", {"token": token})
        assert state.status == 200
        assert b"/mine" in state.body
        assert b"waiting" in state.body


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_a_meta_element_shows_whose_a_site_is(rig: Rig, site: Site, quote: str) -> None:
    with rig.listening():
        token = begin(rig)
        assert submit(rig, token, "/mine", proof="meta")[0] == 403
        word = challenge_of(token, rig.host)
        site.paths["/"] = page(f"<META NAME=scrawler-site-verification content={quote}{word}{quote}>")
        assert submit(rig, token, "/mine", proof="meta")[0] == 200


def test_a_record_of_the_dns_shows_whose_a_site_is(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    records: list[str] = []
    monkeypatch.setattr(desk.OwnerDesk.__init__, "__defaults__", (lambda name: asked.append(name) or records,))
    with rig.listening():
        token = begin(rig)
        assert submit(rig, token, "/mine", proof="dns")[0] == 403
        records.append(f"scrawler-site-verification={challenge_of(token, rig.host)}")
        assert submit(rig, token, "/mine", proof="dns")[0] == 200
    assert asked == ["_scrawler.127.0.0.1"] * 2


def test_what_is_published_serves_nobody_else(rig: Rig, site: Site) -> None:
    with rig.listening():
        mine, theirs = begin(rig), begin(rig)
        site.paths["/.well-known/scrawler.txt"] = page(challenge_of(mine, rig.host))
        assert submit(rig, theirs, "/forged")[0] == 403
        assert submit(rig, challenge_of(mine, rig.host), "/forged")[0] == 401
        assert submit(rig, "x" * 43, "/forged")[0] == 403
        assert rig.post_form("/submit/state", {"token": theirs}).status == 401
        assert rig.pushed() == set()
    assert challenge_of(mine, "other.example") != challenge_of(mine, rig.host)


def test_a_window_is_kept_and_holds_for_what_waits(rig: Rig, site: Site) -> None:
    with rig.listening():
        token = begin(rig)
        site.paths["/.well-known/scrawler.txt"] = page(challenge_of(token, rig.host))
        for wrong in ("25:00-26:00", "02:00-02:10", "soon", "02:00-02:00"):
            assert submit(rig, token, "/mine", window=wrong)[0] == 400
        now = rig.sql("SELECT heartbeat_at FROM listener")[0][0] // 60_000 % 1440
        start, end = (now + 120) % 1440, (now + 240) % 1440
        window = f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
        assert submit(rig, token, "/mine", window=window)[0] == 200
        assert rig.sql("SELECT window_from, window_to FROM site") == [(start, end)]
        due_at, at = rig.sql("SELECT due_at, at FROM pushed")[0]
        assert 100 * 60_000 < due_at - at < 130 * 60_000
        assert submit(rig, token, "/mine")[0] == 200
        assert rig.sql("SELECT window_from, window_to FROM site") == [(0, 0)]


def test_the_form_of_another_page_is_refused(rig: Rig, site: Site) -> None:
    with rig.listening():
        fields = {"site": rig.server.url("/")}
        assert rig.post_form("/submit/start", fields, Origin="http://evil.example").status == 403
        assert rig.post_form("/submit/start", fields, Origin="null").status == 403
        assert rig.post_form("/submit/start", fields, **{"Sec-Fetch-Site": "cross-site"}).status == 403
        own = rig.post_form("/submit/start", fields, Origin=f"http://127.0.0.1:{rig.port}")
        assert own.status == 200
        assert "set-cookie" not in own.headers


def test_what_others_have_written_is_only_text(rig: Rig, site: Site) -> None:
    with rig.listening():
        token = begin(rig)
        refused = rig.post_form("/submit", {"token": token, "site": rig.host, "urls": SCRIPT, "window": f'">{SCRIPT}'})
        site.paths["/.well-known/scrawler.txt"] = page(challenge_of(token, rig.host))
        submit(rig, token, f"/{SCRIPT}?a='\"&b")
        with closing(open_database(rig.url)) as database, database.begin() as connection:
            connection.exec_driver_sql(f"UPDATE seed SET end_detail = '{SCRIPT}', end_reason = 'x'")
        state = rig.post_form("/submit/state", {"token": token})
        start = rig.post_form("/submit/start", {"site": SCRIPT})
        for answer in (refused, state, start):
            assert b"<script" not in answer.body
            assert "script-src" not in answer.headers["content-security-policy"]
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "no-referrer"
        assert b"&lt;script&gt;" in state.body


def test_submissions_by_json(rig: Rig, site: Site) -> None:
    with rig.listening():
        token = begin(rig)
        site.paths["/.well-known/scrawler.txt"] = page(challenge_of(token, rig.host))
        body = {"site": rig.server.url("/"), "proof": "file", "urls": [rig.server.url("/a"), "http://x.example/"]}
        assert rig.post_json("/submit", body).status == 401
        answer = rig.post_json("/submit", body, Authorization=f"Bearer {token}")
        assert (answer.status, answer.said["accepted"]) == (200, 1)
        assert rig.post_json("/submit", body | {"urls": "x"}, Authorization=f"Bearer {token}").status == 400
        assert (
            rig.post_json("/submit", body | {"site": "http://x.example/"}, Authorization=f"Bearer {token}").status
            == 422
        )


def test_an_unknown_site_is_told_so(rig: Rig) -> None:
    with rig.listening():
        assert rig.post_form("/submit/start", {"site": "unknown.example"}).status == 422
        assert rig.post_form("/submit/start", {"site": ""}).status == 400
        assert rig.post_form("/submit/state", {"token": "x"}).status == 401


def test_the_token_is_kept_as_a_hash(rig: Rig, site: Site) -> None:
    with rig.listening():
        token = begin(rig)
        site.paths["/.well-known/scrawler.txt"] = page(challenge_of(token, rig.host))
        submit(rig, token, "/mine")
    assert token.encode() not in (rig.folder / "crawl.db").read_bytes()
