"""An earlier crawl, whose database says what its archive holds (`dedup_from`): it is only read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import bindparam, select

from scrawler.errors import DatabaseUrlError, ScrawlerError, SettingsError, StoreError
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.terms import Millis, url_hash
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database, Waiting, open_database
from scrawler.store.engines.engines import SQLITE_DRIVERS, parsed_url
from scrawler.store.reading.traces import MOST_READ
from scrawler.store.schema.tables import crawl, loss, page, seed, site
from scrawler.tuples.classes import NamedTuple

_SQLITE = "sqlite:///"
_ROWS = 1_000  # page rows held in memory at a time
_MOST = 100  # crawls, each of which refers to the one before it
_WHOLE = tuple(result.value for result in Result if result.answered)


class EarlierPage(NamedTuple):
    """A row of an earlier crawl's pages, as far as anybody asks for it."""

    url: str
    digest: bytes
    fetched_at: Millis
    result: str
    status: int
    flags: int
    length: int  # bytes of the body
    revisit: int
    warc_file: str
    warc_offset: int
    warc_length: int


_ORIGINALS = (  # made once: it is asked for each page whose payload is to be referred to
    select(*(page.c[name] for name in EarlierPage._fields))
    .where(page.c.url_hash == bindparam("of_url"), page.c.digest == bindparam("of_payload"))
    .where(page.c.revisit == 0, page.c.warc_file != "")
    .order_by(page.c.id.desc())
    .limit(MOST_READ)
)


class EarlierCrawl:
    """The database of an earlier crawl."""

    def __init__(self, database: Database) -> None:
        """Read from `database`, which it closes."""
        self.database = database
        if not database.rows(select(crawl.c.id).limit(1)):
            raise StoreError("dedup_from: the database holds no crawl yet")
        self.crawl: Crawl = Crawls(database).open("", Scope.HOST)

    def pages(self, site_key: str) -> Iterator[list[EarlierPage]]:
        """Yield the pages of a site that the archive holds, some at a time, the newest first.

        Files from which records are gone are left out.
        """
        of_site = select(seed.c.id).join(site, site.c.id == seed.c.site_id).where(site.c.key_hash == url_hash(site_key))
        for (seed_id,) in self.database.plain_rows(of_site.order_by(seed.c.id)):
            yield from self._of_seed(seed_id)

    def _of_seed(self, seed_id: int) -> Iterator[list[EarlierPage]]:
        there = page.c.warc_file != "", page.c.warc_file.not_in(select(loss.c.warc_file))
        whole = page.c.length > 0, page.c.result.in_(_WHOLE)
        query = select(page.c.id, *(page.c[name] for name in EarlierPage._fields)).where(page.c.seed_id == seed_id)
        query = query.where(*whole, *there).order_by(page.c.id.desc()).limit(_ROWS)
        before = None
        while rows := self.database.plain_rows(query if before is None else query.where(page.c.id < before)):
            pages = map(EarlierPage._make, (row[1:] for row in rows))
            yield [one._replace(digest=bytes(one.digest)) for one in pages if one.digest]
            before = rows[-1][0]

    def originals(self, url: str, digest: bytes) -> list[EarlierPage]:
        """Return the visits to a URL whose records hold a payload themselves, the newest first. Raises StoreError."""
        rows = self.database.rows(_ORIGINALS, {"of_url": url_hash(url), "of_payload": digest})
        return [EarlierPage._make(row)._replace(digest=digest) for row in rows]

    def originals_of(self, urls: Collection[str]) -> dict[str, list[EarlierPage]]:
        """Return for each of these URLs the visits whose records hold a payload themselves, the newest first.

        Nothing where these are too many. Raises StoreError.
        """
        hashes = sorted({url_hash(url) for url in urls})
        query = select(*(page.c[name] for name in EarlierPage._fields)).where(page.c.url_hash.in_(hashes))
        query = query.where(page.c.revisit == 0, page.c.warc_file != "").order_by(page.c.id.desc())
        rows = self.database.plain_rows(query.limit(MOST_READ * len(hashes)))
        if len(rows) >= MOST_READ * len(hashes):
            return {}
        found: dict[str, list[EarlierPage]] = {url: [] for url in urls}
        for row in rows:
            one = EarlierPage._make(row)
            if one.url in found:
                found[one.url].append(one._replace(digest=bytes(one.digest)))
        return found

    def folders(self, host: str) -> dict[str, Path]:
        """Return in which folders of a host its machines wrote, by what the names of their files begin with."""
        return Machines(self.database).written_to(self.crawl, host)

    def is_copied(self) -> bool:
        """Tell whether one of its runs has copied files elsewhere, so that what is not here may be there."""
        return Crawls(self.database).copied_to() is not None

    def close(self) -> None:
        """Close its database."""
        self.database.close()


def open_earlier(
    given: str, own: Database, scope: Scope | None = None, waiting: Waiting | None = None
) -> list[EarlierCrawl]:
    """Open an earlier crawl, with those to which it refers itself; to be closed, each.

    `given` is a file or a database URL, `own` the database of the crawl at hand, and `scope` its scope, with which that
    of the earlier ones must agree. What is wrong further back is left out: its payloads are archived once more. So is
    what only a database names, unless it is a file, or on a server that the user has named: see `may_open`.

    Raises:
        SettingsError: it is the crawl's own database, or has another scope.
        StoreError: it cannot be opened.
    """
    return _with_further([_opened(given, own, scope, waiting)], own, scope, waiting, given)


def open_referred(
    given: Sequence[str], own: Database, waiting: Waiting, named: str | None = None
) -> list[EarlierCrawl]:
    """Open all earlier crawls to which the records of a crawl may refer, as far as they are there.

    Of those that are `given`, the user has `named` one, if any. Raises as `open_earlier`, where none can be opened.
    """
    found: list[EarlierCrawl] = []
    wrong: ScrawlerError | None = None
    for one in given:
        if not may_open(one, own, named):
            continue
        try:
            if not any(_is_same(one, known.database) for known in found):
                found.append(_opened(one, own, None, waiting))
        except (SettingsError, StoreError) as error:
            wrong = wrong or error
    if wrong is not None and not found:
        raise wrong
    return _with_further(found, own, None, waiting, named)


def may_open(given: str, own: Database, named: str | None) -> bool:
    """Tell whether an earlier crawl may be opened: a database names it, and perhaps somebody else has written that.

    A file may. A server is asked where the user has named the same crawl, or keeps another one there: the one that is
    `named`, or the crawl's `own`.
    """
    if _path(given) is not None or given == named:
        return True
    servers = {_server(own.where)} if named is None else {_server(own.where), _server(named)}
    server = _server(given)
    return server is not None and server in servers


def _server(given: str) -> str | None:
    """Return what a URL says of a server and its user; None for a file, and where parameters may say it otherwise."""
    if _path(given) is not None:
        return None
    try:
        url = parsed_url(given)
    except DatabaseUrlError:
        return None
    return None if url.query else str(url.set(database=None, password=None))


def _with_further(
    found: list[EarlierCrawl], own: Database, scope: Scope | None, waiting: Waiting | None, named: str | None
) -> list[EarlierCrawl]:
    """Add the crawls to which those refer that were found, and to which these refer."""
    try:
        for one in found:  # those that are added on the way among them
            with suppress(ScrawlerError):
                for further in Crawls(one.database).referred_to():
                    if may_open(further, own, named):
                        _add(found, further, own, scope, waiting)
    except BaseException:
        close_earlier(found)
        raise
    return found


def _add(found: list[EarlierCrawl], given: str, own: Database, scope: Scope | None, waiting: Waiting | None) -> None:
    with suppress(ScrawlerError):
        if len(found) < _MOST and not any(_is_same(given, one.database) for one in found):
            found.append(_opened(given, own, scope, waiting))


def close_earlier(found: Sequence[EarlierCrawl]) -> None:
    """Close what was opened."""
    for one in found:
        one.close()


def absolute(given: str) -> str | None:
    """Return what names an earlier crawl from any folder, without a password; None where it cannot be told without."""
    path = _path(given)
    if path is not None:
        return os.path.abspath(path)
    try:
        return given if parsed_url(given).password is None else None
    except DatabaseUrlError:
        return None


def _opened(given: str, own: Database, scope: Scope | None, waiting: Waiting | None) -> EarlierCrawl:
    path = _path(given)
    if path is not None and not os.path.isfile(path):  # False as well for what the system does not let it look at
        raise StoreError(f"dedup_from: there is no database {path}")
    url = given if path is None else _read_only(path)
    try:
        if _is_same(given, own):
            raise SettingsError("dedup_from is the crawl's own database: name that of an earlier crawl")
        database = open_database(url, create=False, waiting=waiting)
    except StoreError as error:
        raise StoreError(f"dedup_from: {_plainly(str(error), url, given)}") from error
    try:
        earlier = EarlierCrawl(database)
        if scope is not None and (earlier.crawl.scope is Scope.DOMAIN) is not (scope is Scope.DOMAIN):
            raise SettingsError(
                f"dedup_from: {path or database.where} was crawled with scope {earlier.crawl.scope.value}, and this"
                f" crawl has {scope.value}: their sites are not the same"
            )
    except BaseException:
        database.close()
        raise
    return earlier


def _read_only(path: str) -> str:
    """Return the URL by which SQLAlchemy has SQLite open a file to be read alone: both undo the quoting of a URL."""
    return f"{_SQLITE}file:{quote(quote(os.path.abspath(path)))}?mode=ro&uri=true"


def _plainly(text: str, url: str, given: str) -> str:
    """Return an error's text with a file as it was given, in place of the URL by which it is opened to be read."""
    return text if url == given else text.replace(_where(url), given)


def _where(url: str) -> str:
    return parsed_url(url).set(query={}).render_as_string(hide_password=True)


def _path(given: str) -> str | None:
    """Return the file of an SQLite database that is given as one, or as its URL; None for one on a server."""
    if "://" not in given:
        return given
    kind, _, path = given.partition(":///")
    return path if kind in SQLITE_DRIVERS else None


def _is_same(given: str, database: Database) -> bool:
    path = _path(given)
    if path is not None:
        return database.is_at(Path(path))
    return _where(given) == database.where
