"""Crawls: the one crawl of a database, its scope, and a row for each run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from scrawler.errors import StoreError
from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedState
from scrawler.model.terms import CRAWL_NAME, Millis
from scrawler.store.claims.overview import LIVING
from scrawler.store.claims.sites import ensure_sites
from scrawler.store.engines.bulk import BulkUpdate
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_object, read_word
from scrawler.store.engines.rows import AnyRow, inserted_id, inserting_new
from scrawler.store.schema.tables import crawl, machine, run, seed, site

_THE_CRAWL = 1
_NAME = re.compile(CRAWL_NAME)
_LOOKED_UP = ("archive_to", "pages_dir", "partition")  # what is read of other runs than the last
_SHARED_AMONG = 100  # runs whose settings are compared with those of one that begins
_REKEYED = 2_000  # seeds held in memory at a time


@dataclass(frozen=True, slots=True)
class Crawl:
    """The crawl that a database holds."""

    id: int
    name: str
    scope: Scope
    created_at: Millis  # it tells apart crawls of one name

    @property
    def files_prefix(self) -> str:
        """What the names of the WARC files of all its machines begin with."""
        return f"{self.name}-{self.created_at:x}-m"

    def warc_prefix(self, machine_id: int) -> str:
        """Return what the names of a machine's WARC files begin with.

        Crawls of two databases may share a folder and a name: each mends, cuts and removes its own files only.
        """
        return f"{self.files_prefix}{machine_id}"


_BEGUN = (SeedState.ACTIVE, SeedState.SLOW, SeedState.DONE)


class Crawls:
    """Opens the crawl and records its runs."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database

    def open(self, name: str, scope: Scope) -> Crawl:
        """Return the database's crawl, made with this name and scope if there is none yet.

        A crawl that is there keeps its name and scope: compare them, and use `rename` and `rekey` to change them.
        """

        def work(connection: Connection) -> Crawl:
            found = _stored(connection)
            if found is None:
                now = database_time(connection, self._database.clock)
                row = {"id": _THE_CRAWL, "name": name, "scope": scope.value, "created_at": now}
                new = inserting_new(crawl, self._database.dialect)
                connection.execute(new, row)  # another program may be opening it as well
                found = _stored(connection)
            assert found is not None
            return found

        return self._database.reading(_stored) or self._database.retrying(work)

    def rename(self, name: str) -> None:
        """Change the name of a crawl that no machine has begun to work on: files in the archive bear it.

        Raises:
            StoreError: one has.
        """

        def work(connection: Connection) -> None:
            old = connection.execute(select(crawl.c.name).with_for_update()).scalar_one()
            if old != name and connection.scalar(select(run.c.id).limit(1)) is not None:
                raise StoreError(
                    f"the database {self._database.where} holds the crawl {old}, which cannot be called {name} once it"
                    " was run; leave the name out, or use another database"
                )
            connection.execute(update(crawl).values(name=name))

        self._database.retrying(work)

    def rekey(self, scope: Scope, key_of: Callable[[str], str]) -> None:
        """Change the scope of a crawl in which nothing has been begun: every seed goes to the site `key_of(url)`.

        All of it is one transaction.

        Raises:
            StoreError: a seed has been begun already.
        """

        def work(connection: Connection) -> None:
            connection.execute(select(crawl.c.id).with_for_update())
            begun = select(seed.c.id).where(seed.c.state.in_([one.value for one in _BEGUN])).limit(1)
            if connection.scalar(begun) is not None:
                raise StoreError(
                    f"the scope of a crawl cannot be changed to {scope.value} once a seed was begun;"
                    " use the scope it has, or import the seeds into another database"
                )
            self._move_seeds(connection, key_of)
            used = select(seed.c.site_id).where(seed.c.site_id == site.c.id).exists()
            connection.execute(delete(site).where(~used))
            connection.execute(update(crawl).values(scope=scope.value))

        self._database.retrying(work)

    def _move_seeds(self, connection: Connection, key_of: Callable[[str], str]) -> None:
        move = BulkUpdate(seed, ("site_id",), self._database.compiler)
        query = select(seed.c.id, seed.c.url).order_by(seed.c.id).limit(_REKEYED)
        after = 0
        while rows := connection.execute(query.where(seed.c.id > after)).all():
            keys = {row.id: key_of(row.url) for row in rows}
            ids, _ = ensure_sites(connection, set(keys.values()), self._database.compiler)
            move.run(connection, [(row.id, ids[keys[row.id]]) for row in rows])
            after = rows[-1].id

    def begin_run(self, machine_id: int, settings: Mapping[str, Any], looked_up: Iterable[str] = ()) -> int:
        """Record that a run begins, with its settings (values that JSON knows); return its id.

        What features look up in other runs than the last is named by `looked_up`.
        """
        made = 0

        def work(connection: Connection) -> int:
            nonlocal made
            if made and connection.scalar(select(run.c.machine_id).where(run.c.id == made)) == machine_id:
                return made  # an earlier try did commit
            now = database_time(connection, self._database.clock)
            text = json.dumps(dict(settings), sort_keys=True)
            row = {"machine_id": machine_id, "started_at": now, "settings": text}
            made = inserted_id(connection.execute(insert(run), row))
            _share_settings(connection, made, text, (*_LOOKED_UP, *looked_up))
            return made

        return self._database.retrying(work)

    def started_with(self, key: str) -> Any:
        """Return what the newest of the runs that go on was started with, None if there is none."""
        going_on = select(run.c.settings).where(run.c.ended_at.is_(None)).order_by(run.c.id.desc()).limit(1)
        rows = self._database.rows(going_on)
        return read_object(rows[0].settings).get(key) if rows else None

    def copied_to(self) -> str | None:
        """Return where the newest of the runs that copied WARC files away has copied them, None if none did."""
        copying = run.c.settings.contains('"archive_to": "', autoescape=True)
        rows = self._database.rows(select(run.c.settings).where(copying).order_by(run.c.id.desc()).limit(1))
        return next(setting_texts(rows, "archive_to"), None)

    def end_run(self, run_id: int, outcome: str, *, pages: int, bytes_: int, errors: int) -> None:
        """Record how a run ended ("completed", "stopped", ...) and its totals."""

        def work(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            values = {"ended_at": now, "outcome": outcome, "pages": pages, "bytes": bytes_, "errors": errors}
            connection.execute(update(run).where(run.c.id == run_id).values(values))

        self._database.retrying(work)


def _share_settings(connection: Connection, newest: int, text: str, looked_up: Iterable[str]) -> None:
    """Leave of the same settings of earlier runs what is looked up there, and where all of them stand.

    Crawls that go on for years have thousands of runs, and the settings of each take 4 KB. Runs of machines that live
    keep theirs: what these were started with is asked for.
    """
    query = select(run.c.id, run.c.settings).join(machine, machine.c.id == run.c.machine_id)
    before = query.where(run.c.id < newest, machine.c.state.not_in(LIVING)).order_by(run.c.id.desc())
    same = [row.id for row in connection.execute(before.limit(_SHARED_AMONG)) if row.settings == text]
    settings = json.loads(text)
    short = {key: settings[key] for key in looked_up if key in settings}
    if same and len(short) < len(settings):
        left = json.dumps(short | {"as_in_run": newest}, sort_keys=True)
        connection.execute(update(run).where(run.c.id.in_(same)).values(settings=left))


def setting_texts(rows: Iterable[AnyRow], key: str) -> Iterator[str]:
    """Yield what the settings of runs have for a key, where that is a text."""
    for row in rows:
        value = read_object(row.settings).get(key)
        if isinstance(value, str) and value:
            yield value


def _stored(connection: Connection) -> Crawl | None:
    row = connection.execute(select(crawl.c.id, crawl.c.name, crawl.c.scope, crawl.c.created_at)).first()
    if row is None:
        return None
    if not isinstance(row.name, str) or not _NAME.fullmatch(row.name):  # files are named after it
        raise StoreError(
            f"the database calls its crawl {str(row.name)[:70]!r}, which no crawl is called: it is damaged"
        )
    return Crawl(row.id, row.name, read_word(Scope, row.scope), row.created_at)


def bump_revision(connection: Connection) -> None:
    """Tell all machines to look again; last of a transaction, which holds the crawl's row until its end."""
    connection.execute(update(crawl).values(revision=crawl.c.revision + 1))
