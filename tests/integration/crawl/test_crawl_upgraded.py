"""A crawl that an earlier version left half-finished goes on once its database was upgraded."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrawler.errors import StoreError
from scrawler.store.engine import open_database, upgrade_database
from scrawler.synthweb.process import SynthServer
from tests.consistency import check_records
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.rig import truth
from tests.stored import PORTS, SPEC, dialect_of, load_schema_1


def _names(server: SynthServer) -> list[str]:
    """All names of the web, with the dot that some seeds have at the end as well."""
    return [f"{name}{dot}={address}" for name, address in server.web.addresses().items() for dot in ("", ".")]


def test_a_crawl_of_schema_1_ends_with_the_pages_that_it_would_have_had(database_url: str, tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, database_url)
    load_schema_1(database_url, tmp_path / "pages")
    with pytest.raises(StoreError, match="has schema 1, not 2; bring it up with `scrawler db upgrade`"):
        open_database(database_url)
    assert upgrade_database(database_url) == [2]
    before = crawl.html()
    with SynthServer(SPEC, PORTS[dialect_of(database_url)]) as server:
        expected = truth(server)
        assert before & expected
        assert expected - before
        summary = crawl.run(resolve=_names(server))
    assert summary.outcome == "ended"
    undotted = {url for url in crawl.html() if ".:" not in url}
    of_dotted_seeds_alone = {url for url in expected for site in (2, 6, 15) if f"//site{site}." in url}
    assert undotted == expected - of_dotted_seeds_alone
    check_records(database_url, tmp_path / "pages")
