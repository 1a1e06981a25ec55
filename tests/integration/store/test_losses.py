"""What is noted of losses: what refers to them is found in little work, and what is told, told until that is marked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event, insert

from scrawler.model.records import UNCOUNTED, Loss, LossKind
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.losses import Losses
from scrawler.store.lists.lost_rows import LostRows, TakenBack
from scrawler.store.lists.vain import VainRevisits
from scrawler.store.schema.tables import page as pages
from tests.integration.store.crawling import add, page
from tests.proxy import Proxy

_STEP = 1_000  # instructions of SQLite's machine


def record(number: int, file: str, digest: int, revisit: int = 0) -> dict[str, Any]:
    row = page(1, f"http://a.org/{number}", digest=digest.to_bytes(20, "big"), revisit=revisit)
    return row._asdict() | {"warc_file": file, "warc_offset": number * 100, "warc_length": 100}


def crawled(database: Database, records: int) -> None:
    """Pages of one site: a tenth in a file that is lost, of which each tenth has a revisit elsewhere."""
    add(database, "http://a.org/")
    lost = [record(number, "lost", number) for number in range(records // 10)]
    whole = [record(number, "whole", number) for number in range(records // 10, records)]
    revisits = [record(records + number, "whole", number, 1) for number in range(0, records // 10, 10)]
    database.retrying(lambda connection: connection.execute(insert(pages), lost + whole + revisits))
    Losses(database).note(Loss("lost", LossKind.MISSING, len(lost), UNCOUNTED))


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the work of all connections to SQLite that are opened in the block, in steps."""
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    def listen(connection: Any, _record: object) -> None:
        connection.set_progress_handler(step, _STEP)

    event.listen(Engine, "connect", listen)
    try:
        yield steps
    finally:
        event.remove(Engine, "connect", listen)


def lost_rows(database: Database) -> LostRows:
    return LostRows(database, lambda entries: b"", lambda url, *asked: "//a.org/" in url)


def offsets(records: int) -> list[int]:
    return [number * 100 for number in range(records // 10)]


@pytest.mark.parametrize("taking_back", [False, True])
def test_twice_as_many_losses_are_twice_the_work(taking_back: bool, tmp_path: Any) -> None:
    """No index leads from a digest to its pages: they must not be searched for each few losses."""
    work = []
    for records in (5_000, 10_000):
        with counted() as steps:
            database = open_database(f"sqlite:///{tmp_path / str(records)}.db")
            crawled(database, records)
            before = steps[0]
            if taking_back:
                taken = lost_rows(database).take_back("lost", offsets(records))
                assert taken == TakenBack(rows=records // 10, in_vain=records // 100)
            else:
                vain = VainRevisits(database)
                places = offsets(records)
                found = [vain.taken("lost", places[at : at + 200]) for at in range(0, len(places), 200)]
                assert sum(map(len, found)) == records // 100
            work.append(steps[0] - before)
            database.close()
    assert work[1] < 2.5 * work[0], work


def test_only_what_no_whole_file_holds_is_in_vain(database_url: str) -> None:
    """A payload that stands elsewhere as well, one of which a revisit is lost, too, and another site's."""
    database = open_database(database_url)
    add(database, "http://a.org/", "http://b.org/")
    rows = [record(1, "lost", 1), record(2, "lost", 2), record(3, "lost", 3), record(4, "whole", 2)]
    rows += [record(5, "whole", 1, 1), record(6, "whole", 2, 1), record(7, "accepted", 3, 1), record(8, "lost", 1)]
    rows += [record(9, "whole", 3, 1) | {"seed_id": 2}, record(10, "whole", 1, 1)]
    database.retrying(lambda connection: connection.execute(insert(pages), rows))
    losses = Losses(database)
    losses.note(Loss("accepted", LossKind.CUT, 1, 0))
    losses.accept()
    losses.note(Loss("lost", LossKind.MISSING, 4, UNCOUNTED))
    assert losses.uncounted() == ["lost"]
    vain = losses.vain_revisits(lambda: False)
    found = vain.taken("lost", [100, 200, 300, 800])
    assert {row.url for row in database.rows(pages.select().where(pages.c.id.in_(found)))} == {
        "http://a.org/5", "http://a.org/10"
    }  # fmt: skip
    assert vain.taken("lost", [100, 800]) == [], "each is found once"
    assert losses.vain_revisits(lambda: True).taken("lost", [100]) == [], "it is to stop"
    database.close()


def test_what_was_found_is_told_until_that_is_marked_and_what_came_later_is_told_then(database_url: str) -> None:
    database = open_database(database_url)
    losses = Losses(database)
    losses.note(Loss("one", LossKind.CUT, 1, UNCOUNTED))
    losses.note(Loss("two", LossKind.CUT, 2, 3))
    found = losses.untold()
    assert found == losses.untold() == ((2, 3, 3), {"one": 1, "two": 2})
    losses.note(Loss("one", LossKind.CUT, 5, UNCOUNTED))
    losses.note(Loss("three", LossKind.MISSING, 7, 0))
    losses.mark_told(found.files)
    assert losses.untold().files == {"one": 5, "three": 7}
    losses.mark_told({})
    assert losses.accept() == (3, 14, 3)
    assert losses.untold().files == {}
    losses.note(Loss("one", LossKind.CUT, 5, 0))
    assert losses.untold().files == {}
    losses.note(Loss("one", LossKind.CUT, 6, 0))
    assert losses.untold().files == {"one": 6}, "more than was accepted"
    database.close()


def test_an_answer_of_the_database_that_is_lost_loses_none(proxied_url: str, proxy: Proxy) -> None:
    """It is carried out once more, and says the same."""
    database = open_database(proxied_url)
    losses = Losses(database)
    losses.note(Loss("one", LossKind.CUT, 1, 0))
    cut = proxy.cut_after_commit()
    losses.mark_told(losses.untold().files)
    assert cut.is_set()
    assert losses.untold().files == {}
    cut = proxy.cut_after_commit()
    assert losses.accept() == (1, 1, 0)
    assert cut.is_set()
    database.close()
