"""The door for external URLs: what becomes of them is one object, which whoever builds a machine chooses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Connection

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.insight.answer import REFUSED
from scrawler.insight.why import why
from scrawler.model.rows import ExternalRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedState
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.commit.externals import AsCandidates
from scrawler.store.engines.engine import Database, open_database
from scrawler.urls.scope import site_key
from scrawler.urls.verdict import Verdict
from tests.integration.crawl.hostile import by_path, page, run_whole
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=7, sites=6, mean_pages=20, page_bytes=1000)


def _is_ours(url: str) -> bool:
    """Tell whether a URL's site is one of this machine's partition: here, by the bytes of its name."""
    return sum(site_key(url, Scope.HOST).encode()) % 2 == 0


class ToOwner(AsCandidates):
    """A third behaviour: what others own is written to a file for them, the rest is kept as candidates are.

    What others have sent becomes seeds once nothing else is left.
    """

    def __init__(self, database: Database, outbox: Path, inbox: list[str]) -> None:
        super().__init__(database)
        self._database = database
        self._outbox = outbox
        self._inbox = inbox

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> None:
        super().keep(connection, [row for row in found if _is_ours(row.url)])
        with self._outbox.open("a") as out:
            out.writelines(json.dumps([row.url, row.depth]) + "\n" for row in found if not _is_ours(row.url))

    def become_seeds(self) -> int:
        sent = [NewSeed(url, site_key(url, Scope.HOST), 1) for url in self._inbox]
        return Seeds(self._database).add(sent).new


def test_a_page_hands_out_so_many_bytes_of_external_urls(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """A foreign <base> makes 2 KB of each short link."""
    base = f"http://b.example/{'x' * 1_900}/"
    links = "".join(f"<a href={number}>x</a>" for number in range(7_000))
    few = "".join(f"<a href=http://c.example/{number}>x</a>" for number in range(3_000))
    server = serve(by_path({"/": page(f"<a href=/long>x</a>{few}"), "/long": page(f"<base href={base}>{links}")}))
    crawl.add([server.url()])
    run_whole(crawl)
    kept = {url for url in crawl.candidates() if url.startswith(base)}
    assert (4 << 20) - 2_000 < sum(map(len, kept)) <= 4 << 20
    assert kept == {f"{base}{number}" for number in range(len(kept))}
    assert sum(url.startswith("http://c.example/") for url in crawl.candidates()) == 3_000
    seed = crawl.seed(server.url())
    assert seed.verdicts[Verdict.EXTERNAL_LIMIT] == 7_000 - len(kept)
    assert seed.verdicts[Verdict.EXTERNAL] == 10_000
    database = open_database(crawl.url)
    left = why(database, crawl.settings(), Scope.HOST, f"{base}{len(kept)}")
    database.close()
    assert left.outcome == REFUSED
    assert any("more than 4MiB of external URLs" in line for fact in left.facts for line in fact.lines)


def test_why_says_that_external_urls_were_left_out_for_want_of_room(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    links = tuple(f"http://h{number}.example/" for number in range(30))
    crawl.add([serve(by_path({"/": page("home", links=links)})).url()])
    run_whole(crawl, max_candidates=5)
    database = open_database(crawl.url)
    told = [why(database, crawl.settings(), Scope.HOST, url) for url in (*links, "http://nobody.example/")]
    database.close()
    missed = [line for one in told for fact in one.facts if fact.kind == "missed" for line in fact.lines]
    words = "external URLs left out, as max_candidates or mode drop wants: 25; it may be among them"
    assert missed == [words] * (25 - 4 + 1), "five are candidates, and of four it is noted"


def test_a_third_behaviour_takes_all_external_urls_and_brings_seeds(crawl: Crawl) -> None:
    outbox = crawl.folder / "outbox.jsonl"
    with SynthServer(SPEC) as server:
        first, sent = server.web.seeds()[:2]
        external = set().union(*(party(server.web, seed).external for seed in (first, sent)))
        crawl.add([first])

        def to_owner(database: Database) -> ToOwner:
            return ToOwner(database, outbox, [sent])

        assert watch(crawl.settings(), make_externals=to_owner).ended
    assert {(seed.url, seed.state, seed.hops) for seed in crawl.seeds()} == {
        (first, SeedState.DONE, 0),
        (sent, SeedState.DONE, 1),
    }
    written = {json.loads(line)[0] for line in outbox.read_text().splitlines()}
    kept = crawl.candidates()
    assert {url for url in external if not _is_ours(url)} <= written
    assert {url for url in external if _is_ours(url)} <= kept | {first, sent}
    assert written
    assert kept
    assert not any(map(_is_ours, written))
    assert all(map(_is_ours, kept))


class Refusing(AsCandidates):
    """One that cannot take what it is given, once."""

    def __init__(self, database: Database, asked: list[int]) -> None:
        super().__init__(database)
        self._asked = asked

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> None:
        super().keep(connection, found)
        self._asked.append(len(found))
        if len(self._asked) == 1:
            raise OSError("no space left on device")


def test_what_is_not_kept_takes_its_pages_back_with_it(crawl: Crawl) -> None:
    """The pages of a checkpoint and their external URLs are durable together, or neither: the next run has both."""
    asked: list[int] = []
    with SynthServer(SPEC) as server:
        seed = server.web.seeds()[0]
        crawl.add([seed])
        with pytest.raises(OSError, match="no space left on device"):
            watch(crawl.settings(timeout=1), make_externals=lambda database: Refusing(database, asked))
        assert asked
        assert (crawl.pages(), crawl.candidates()) == ([], set())
        assert watch(crawl.settings(timeout=1)).ended
        expected = party(server.web, seed)
    assert expected.pages <= crawl.fetched()
    assert expected.external <= crawl.candidates() | {seed}


def test_urls_of_two_checkpoints_add_up(crawl: Crawl) -> None:
    """Handed over twice, a URL is one candidate with the sum of what was found."""
    database = open_database(crawl.url)
    crawl.add(["http://a.example/"])
    door = AsCandidates(database)
    row = ExternalRow(1, b"h" * 20, "http://b.example/", 0, 2)
    for _ in range(2):
        with database.begin() as connection:
            door.keep(connection, [row])
    assert door.become_seeds() == 0
    database.close()
    assert crawl.candidates() == {"http://b.example/"}
