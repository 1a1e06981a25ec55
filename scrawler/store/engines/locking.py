"""Locks of rows that pass over what others have locked, also on servers that cannot do that by themselves.

SKIP LOCKED is there on PostgreSQL, MySQL 8.0.1 and MariaDB 10.6; SQLite has one writer at a time. TiDB, which speaks
MySQL, and older servers have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection
from sqlalchemy.exc import OperationalError

from scrawler.store.engines.rows import AnyRow, AnySelect

_SKIPS_LOCKED = "scrawler_skips_locked"
_NOT_FREE = {1205, 3572}  # a row is locked, as MariaDB and MySQL say it where NOWAIT is asked for
_MARIADB, _MYSQL = (10, 6), (8, 0, 1)  # the first versions that know SKIP LOCKED


def note_locks(connection: Any, record: Any) -> None:
    """Note of a new connection of PyMySQL whether its server knows SKIP LOCKED; it has told its version already."""
    record.info[_SKIPS_LOCKED] = knows_skip_locked(str(connection.server_version))


def skips_locked(connection: Connection) -> bool:
    """Tell whether the server behind a connection can pass over locked rows."""
    return bool(connection.info.get(_SKIPS_LOCKED, True))


def lock_free(connection: Connection, query: AnySelect, key: ColumnElement[int], ids: Iterable[int]) -> list[AnyRow]:
    """Lock rows that are known by `key`, few of them, in this order; return those that nobody else has locked."""
    if skips_locked(connection):
        free = query.where(key.in_(list(ids))).order_by(key).with_for_update(skip_locked=True)
        return list(connection.execute(free))
    rows: list[AnyRow] = []
    for one in ids:
        try:
            rows += connection.execute(query.where(key == one).with_for_update(nowait=True))
        except OperationalError as error:
            if error.orig is None or error.orig.args[0] not in _NOT_FREE:
                raise
    return rows


def knows_skip_locked(version: str) -> bool:
    """Tell by what a MySQL, MariaDB or TiDB says of its version whether it knows SKIP LOCKED."""
    if "tidb" in version.lower():
        return False
    is_mariadb = "mariadb" in version.lower()
    plain = version.removeprefix("5.5.5-") if is_mariadb else version  # what MariaDB says first, for old programs
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", plain)
    if numbers is None:
        return False
    return tuple(map(int, numbers.groups())) >= (_MARIADB if is_mariadb else _MYSQL)
