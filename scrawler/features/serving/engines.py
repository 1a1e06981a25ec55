"""What reads the database of an owner: for reading only, and whatever stands in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Engine, NullPool, create_engine, event
from sqlalchemy.engine import make_url

from scrawler.errors import DatabaseUrlError
from scrawler.features.serving.tables import TablesError
from scrawler.features.serving.values import text_of
from scrawler.store.engines.parameters import KNOWN, checked_parameters

_POOL = 4


def engine_for(told: str) -> Engine:
    """Return what reads the database at a URL. Raises TablesError, and what SQLAlchemy raises."""
    url = make_url(told)
    try:
        if url.get_backend_name() in KNOWN:
            url = checked_parameters(url)
    except DatabaseUrlError as error:
        raise TablesError(str(error)) from error
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url.database)
    if url.get_backend_name() == "postgresql":
        return _postgresql_engine(url)
    engine = create_engine(url, pool_size=_POOL, max_overflow=0, pool_pre_ping=True)

    def read_only(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")

    if url.get_backend_name() in ("mysql", "mariadb"):
        event.listen(engine, "connect", read_only)
    return engine


def _sqlite_engine(path: str | None) -> Engine:
    import sqlite3

    if not path or not Path(path).is_file():
        raise TablesError(f"there is no database {path}")
    where = f"file:{quote(str(Path(path).absolute()))}?mode=ro"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(where, uri=True, check_same_thread=False)
        connection.text_factory = text_of
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)  # another file of that name is seen so


def _postgresql_engine(url: URL) -> Engine:
    engine = create_engine(
        url, pool_size=_POOL, max_overflow=0, pool_pre_ping=True, execution_options={"postgresql_readonly": True}
    )

    def with_any_date(connection: Any, _record: object) -> None:
        if type(connection).__module__.startswith("psycopg."):
            _let_dates_be_text(connection)

    event.listen(engine, "connect", with_any_date)
    return engine


def _let_dates_be_text(connection: Any) -> None:
    """Let dates that Python has not, as `infinity`, be text: a row with one would stop the reading of all."""
    from psycopg import DataError
    from psycopg.types import datetime as dates

    def forgiving(loader: Any) -> Any:
        class Forgiving(loader):  # type: ignore[misc]
            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except DataError:
                    return bytes(data).decode()

        return Forgiving

    for kind, loader in {
        "date": dates.DateLoader,
        "timestamp": dates.TimestampLoader,
        "timestamptz": dates.TimestamptzLoader,
    }.items():
        connection.adapters.register_loader(kind, forgiving(loader))
