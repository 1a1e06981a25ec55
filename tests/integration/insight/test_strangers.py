"""A database that somebody else has written: what it names beyond files of this host is not asked, and told."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from scrawler.cli.cat import cat
from scrawler.cli.verify import verify
from scrawler.cli.why import why_command
from scrawler.errors import RecordsLostError, SettingsError
from scrawler.features.earlier.store.referred import close_crawls, open_referred
from scrawler.features.texts.cli_corpus import corpus
from scrawler.features.texts.cli_wacz import wacz
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page
from tests.integration.fetch.servers import RawServer

SITE = {"/": page("home", links=("/one", "/same")), "/one": page("words"), "/same": page("words")}


class Stranger:
    """A crawl whose database names a server of somebody's own, and whose files are in another folder by now."""

    def __init__(self, folder: Path) -> None:
        self.crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
        site = RawServer(by_path(SITE))
        self.home = site.url()
        self.crawl.add([self.home])
        self.crawl.run(near_duplicates="off", traps=False)
        site.stop()
        self.moved = (folder / "pages").rename(folder / "moved")
        self.server = RawServer(lambda visit: None)

    def says(self, **values: str) -> None:
        """Let the database hold these settings of the last run."""
        with closing(sqlite3.connect(self.crawl.folder / "crawl.db")) as connection, connection:
            ((number, text),) = connection.execute("SELECT id, settings FROM run ORDER BY id DESC LIMIT 1")
            changed = json.dumps(json.loads(text) | {"pages_dir": "/nowhere"} | values)
            connection.execute("UPDATE run SET settings = ? WHERE id = ?", (changed, number))

    def run(self, command: click.Command, *words: str, here: bool = False) -> Result:
        pages = self.moved if here else self.crawl.folder / "pages"
        return CliRunner().invoke(command, [*words, "--db", self.crawl.url, "--pages-dir", str(pages)])


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stranger]:
    made = Stranger(tmp_path_factory.mktemp("stranger"))
    yield made
    made.server.stop()


def test_copies_that_the_database_alone_names_are_not_asked(stranger: Stranger, tmp_path: Path) -> None:
    url = stranger.server.url("/copies")
    stranger.says(archive_to=url)
    told = stranger.run(cat, stranger.home).exception
    assert isinstance(told, RecordsLostError)
    assert f"copies are in {url}, which is not asked" in str(told)
    assert "--archive-to, SCRAWLER_ARCHIVE_TO or archive_to in scrawler.toml" in str(told)
    stranger.run(corpus, str(tmp_path / "texts.jsonl"))
    stranger.run(wacz, str(tmp_path / "packed.wacz"))
    stranger.run(verify)
    assert stranger.run(why_command, stranger.home).exit_code == 0
    assert stranger.server.connections == 0


def test_copies_on_this_host_are_read(stranger: Stranger) -> None:
    stranger.says(archive_to=stranger.moved.as_uri())
    assert b"home" in stranger.run(cat, stranger.home).stdout_bytes


def test_a_server_of_copies_at_a_private_address_is_asked_only_where_that_is_allowed(stranger: Stranger) -> None:
    url = stranger.server.url("/copies")
    refused = stranger.run(cat, stranger.home, "--archive-to", url).exception
    assert isinstance(refused, SettingsError)
    assert "private address 127.0.0.1: --allow-addresses" in str(refused)
    assert stranger.server.connections == 0


@pytest.mark.parametrize("scheme", ["mysql+pymysql", "postgresql"])
def test_an_earlier_crawl_that_the_database_alone_names_is_not_asked(
    stranger: Stranger, scheme: str, tmp_path: Path
) -> None:
    earlier = f"{scheme}://me@127.0.0.1:{stranger.server.port}/x"
    stranger.says(dedup_from=earlier)
    with closing(sqlite3.connect(stranger.crawl.folder / "crawl.db")) as connection, connection:
        ((lost, hashed),) = connection.execute("SELECT id, url_hash FROM page WHERE revisit = 0 AND url LIKE '%e'")
        connection.execute("UPDATE page SET url_hash = zeroblob(length(url_hash)) WHERE id = ?", (lost,))
    try:
        revisit = stranger.home + "same"
        told = stranger.run(cat, revisit if _is_revisit(stranger, revisit) else stranger.home + "one", here=True)
        assert f"the earlier crawl {earlier}, which is not asked" in str(told.exception)
        assert "--dedup-from, SCRAWLER_DEDUP_FROM or dedup_from in scrawler.toml" in str(told.exception)
        stranger.run(corpus, str(tmp_path / "texts.jsonl"), here=True)
        stranger.run(wacz, str(tmp_path / "packed.wacz"), here=True)
        stranger.run(verify, here=True)
        assert stranger.server.connections == 0
    finally:
        with closing(sqlite3.connect(stranger.crawl.folder / "crawl.db")) as connection, connection:
            connection.execute("UPDATE page SET url_hash = ? WHERE id = ?", (hashed, lost))


def test_what_a_stranger_refers_to_is_not_opened_by_a_run_that_names_the_stranger(
    stranger: Stranger, tmp_path: Path
) -> None:
    stranger.says(dedup_from=f"mysql://me@127.0.0.1:{stranger.server.port}/x")
    given = str(stranger.crawl.folder / "crawl.db")
    with closing(open_database(f"sqlite:///{tmp_path / 'own.db'}")) as own:
        found = open_referred([given], own, named=given)
        assert len(found) == 1
        close_crawls(found)
    assert stranger.server.connections == 0


def test_a_length_that_a_row_claims_is_no_bound_for_unpacking(stranger: Stranger) -> None:
    bomb = _packed_zeros(200 << 20)
    (stranger.moved / "bomb.warc.gz").write_bytes(bomb)
    with closing(sqlite3.connect(stranger.crawl.folder / "crawl.db")) as connection, connection:
        query = "SELECT id, warc_file, warc_offset, warc_length, length FROM page WHERE url = ?"
        (row,) = connection.execute(query, (stranger.home,)).fetchall()
        change = "UPDATE page SET warc_file = ?, warc_offset = ?, warc_length = ?, length = ? WHERE id = ?"
        connection.execute(change, ("bomb.warc.gz", 0, len(bomb), 10**12, row[0]))
    try:
        told = stranger.run(cat, stranger.home, here=True).exception
        assert isinstance(told, RecordsLostError)
        assert "more than a page may have" in str(told)
        assert "max_body in scrawler.toml says how large a page may be" in str(told)
    finally:
        with closing(sqlite3.connect(stranger.crawl.folder / "crawl.db")) as connection, connection:
            connection.execute(change, (*row[1:], row[0]))


def _packed_zeros(size: int) -> bytes:
    pack = zlib.compressobj(1, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join(pack.compress(zeros) for _ in range(size >> 20)) + pack.flush()


def _is_revisit(stranger: Stranger, url: str) -> bool:
    return any(row.url == url and row.revisit for row in stranger.crawl.pages())
