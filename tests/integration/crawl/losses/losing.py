"""What tests of losses share: a site whose pages fill several files, harm done to these, and what is known of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from scrawler.app import mark_losses_told
from scrawler.core.progress import RunSummary
from scrawler.core.records.verifying import Finding
from scrawler.model.records import LossKind
from scrawler.model.rows import PageRow
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.losses import Losses, LostTotals
from scrawler.store.sums.reports import Reports
from scrawler.upkeep import Upkeep, Verified
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page, redirect
from tests.integration.fetch.servers import RawServer, Script

Serve = Callable[..., RawServer]

PAGES = 30
NOTHING = (0, 0, 0)
NOISE = Random(1).randbytes(70_000)  # does not compress: some 14 pages fill a file of 1 MB
TRAFFIC = ("requests", "bytes", "wait_ms", "retries")  # counts of what was asked for, whatever came of it


def site(name: str) -> Script:
    """Pages of all kinds: some say the same, so that their records refer to an earlier one."""
    links = tuple(f"/{n}" for n in range(PAGES))
    home = page("home", links=(*links, "/moved", "/missing", "/last", "http://elsewhere.example/"))
    pages = {f"/{n}": page(f"{name}{n // 2}".encode() + NOISE, links=("/", "http://other.example/")) for n in range(4)}
    more = {f"/{n}": page(f"{name}{n}".encode() + NOISE, "X-Robots-Tag: noindex") for n in range(4, PAGES)}
    return by_path({"/": home, **pages, **more, "/moved": redirect("/4"), "/last": pages["/0"]})


def run(crawl: Crawl, **changes: object) -> RunSummary:
    """Run without robots.txt, as the command does, which marks what it has told of."""
    summary = crawl.run(**{"robots": False, **changes})  # type: ignore[arg-type]
    mark_losses_told(crawl.settings(), summary)
    return summary


def files(crawl: Crawl) -> list[Path]:
    return sorted((crawl.folder / "pages").glob("*.warc.gz"))


def rows_of(crawl: Crawl, path: Path) -> list[PageRow]:
    return sorted((row for row in crawl.pages() if row.warc_file == path.name), key=lambda row: row.warc_offset)


def asked(crawl: Crawl, of: Callable[[Database], Any]) -> Any:
    database = open_database(crawl.url)
    try:
        return of(database)
    finally:
        database.close()


def totals(crawl: Crawl) -> LostTotals:
    found: LostTotals = asked(crawl, lambda database: Losses(database).totals())
    return found


def counts(crawl: Crawl) -> dict[str, int]:
    """All counts of the seeds, and what their machines committed, but for traffic.

    What is fetched again is not compared with other pages: it is no near duplicate any more, and a revisit only of what
    the same run has archived. That these counts are those of the rows is checked after each run.
    """
    seeds = asked(crawl, lambda database: Reports(database).counts(None))
    machines = asked(crawl, lambda database: Machines(database).summary())
    kept = {
        name: number
        for name, number in seeds.items()
        if name not in (*TRAFFIC, "elapsed_ms", "near_duplicates", "revisits")
    }
    return kept | {"of machines": machines.pages, "bytes of machines": machines.bytes, "errors": machines.errors}


def archived(crawl: Crawl) -> int:
    return sum(bool(row.warc_file) for row in crawl.pages())


def verified(crawl: Crawl) -> tuple[list[Finding], Verified]:
    """All that a verification finds, and what it said at last."""
    said: list[Verified] = []

    def verify(database: Database) -> list[Finding]:
        settings = crawl.settings()
        upkeep = Upkeep(settings, database, Crawls(database).open(settings.name, settings.scope))
        findings = list(upkeep.verify(said.append))
        upkeep.losses.mark_told(said[-1].lossy)  # as the command does
        return findings

    return asked(crawl, verify), said[-1]


def set_aside(path: Path) -> list[Path]:
    """What is kept of a file under other names."""
    return sorted(path.parent.glob(path.name + ".damaged*"))


def move_away(crawl: Crawl, paths: Iterable[Path]) -> None:
    """Leave nothing in the archive that a whole crawl has not."""
    for path in paths:
        path.rename(crawl.folder / path.name)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zero_the_end(path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, size // 2)
    os.truncate(path, size)


HARMS = {remove: LossKind.MISSING, cut: LossKind.CUT, empty: LossKind.CUT, zero: LossKind.DAMAGED,
         zero_the_end: LossKind.DAMAGED}  # fmt: skip
