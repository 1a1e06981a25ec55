from __future__ import annotations

from scrawler.model import CONDEMNED, SuspectRow, url_hash
from scrawler.store.engine import open_database
from scrawler.store.suspects import Suspects


def _row(site: int, url: str, deaths: int, detail: str) -> SuspectRow:
    return SuspectRow(site, url_hash(url), url, deaths, detail)


def test_deaths_add_up_until_a_url_is_condemned_at_its_site(database_url: str) -> None:
    database = open_database(database_url)
    suspects = Suspects(database)
    certain, doubtful = "http://a.test/certain", "http://a.test/doubtful"
    suspects.add([])
    suspects.add([_row(1, doubtful, 1, "first"), _row(1, certain, CONDEMNED, "a fault")])
    assert suspects.condemned(1) == {certain: "a fault"}
    suspects.add([_row(1, doubtful, 1, "second"), _row(2, doubtful, 1, "elsewhere")])
    assert suspects.condemned(1) == {certain: "a fault", doubtful: "first"}
    assert suspects.condemned(2) == {}
    database.close()
