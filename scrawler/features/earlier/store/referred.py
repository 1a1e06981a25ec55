"""The earlier crawls to whose archives the records of a crawl refer (`dedup_from`): they are only read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import select

from scrawler.errors import DatabaseUrlError, ScrawlerError, SettingsError, StoreError
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls, setting_texts
from scrawler.store.engines.engine import Database, Waiting, open_database
from scrawler.store.engines.engines import SQLITE_DRIVERS, parsed_url
from scrawler.store.reading.archived import ArchivedCrawl
from scrawler.store.schema.tables import crawl, run

_SQLITE = "sqlite:///"
_REFERRING = 1_000  # runs that are looked at for the earlier crawls to which they referred
_MOST = 100  # crawls, each of which refers to the one before it


def open_referred(
    given: Sequence[str],
    own: Database,
    waiting: Waiting | None = None,
    named: str | None = None,
    scope: Scope | None = None,
) -> list[ArchivedCrawl]:
    """Open earlier crawls, with those to which they refer themselves, as far as they are there; to be closed, each.

    Each that is `given` is a file or a database URL; the user has `named` one of them, if any. What only a database
    names is left out, unless it is a file, or on a server that the user has named: see `may_open`. `own` is the
    database of the crawl that refers to them, and `scope` its scope, with which theirs must agree. What is wrong with
    those further back is no error: what they hold is archived once more.

    Raises, where none of those that are given can be opened:
        SettingsError: it is the crawl's own database, or has another scope.
        StoreError: it cannot be opened.
    """
    found: list[ArchivedCrawl] = []
    wrong: ScrawlerError | None = None
    for one in given:
        if not may_open(one, own, named):
            continue
        try:
            if not any(_is_same(one, known.database) for known in found):
                found.append(_opened(one, own, scope, waiting))
        except (SettingsError, StoreError) as error:
            wrong = wrong or error
    if wrong is not None and not found:
        raise wrong
    return _with_further(found, own, scope, waiting, named)


def referred_to(database: Database) -> list[str]:
    """Return to which earlier crawls the runs of a crawl have referred, those of the newest runs first."""
    referring = run.c.settings.contains('"dedup_from": "', autoescape=True)
    newest = select(run.c.settings).where(referring).order_by(run.c.id.desc()).limit(_REFERRING)
    return list(dict.fromkeys(setting_texts(database.rows(newest), "dedup_from")))


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
    found: list[ArchivedCrawl], own: Database, scope: Scope | None, waiting: Waiting | None, named: str | None
) -> list[ArchivedCrawl]:
    """Add the crawls to which those refer that were found, and to which these refer."""
    try:
        for one in found:  # those that are added on the way among them
            with suppress(ScrawlerError):
                for further in referred_to(one.database):
                    if may_open(further, own, named):
                        _add(found, further, own, scope, waiting)
    except BaseException:
        close_crawls(found)
        raise
    return found


def _add(found: list[ArchivedCrawl], given: str, own: Database, scope: Scope | None, waiting: Waiting | None) -> None:
    with suppress(ScrawlerError):
        if len(found) < _MOST and not any(_is_same(given, one.database) for one in found):
            found.append(_opened(given, own, scope, waiting))


def close_crawls(found: Sequence[ArchivedCrawl]) -> None:
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


def _opened(given: str, own: Database, scope: Scope | None, waiting: Waiting | None) -> ArchivedCrawl:
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
        earlier = _archived(database)
        if scope is not None and (earlier.crawl.scope is Scope.DOMAIN) is not (scope is Scope.DOMAIN):
            raise SettingsError(
                f"dedup_from: {path or database.where} was crawled with scope {earlier.crawl.scope.value}, and this"
                f" crawl has {scope.value}: their sites are not the same"
            )
    except BaseException:
        database.close()
        raise
    return earlier


def _archived(database: Database) -> ArchivedCrawl:
    if not database.rows(select(crawl.c.id).limit(1)):
        raise StoreError("dedup_from: the database holds no crawl yet")
    return ArchivedCrawl(database, Crawls(database).open("", Scope.HOST))


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
