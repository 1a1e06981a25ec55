"""Statements that are compiled once for all databases of a kind: each test has engines of its own, with empty caches.

To compile a statement takes longer than to run it on a table of a few rows, and a crawl has a hundred of them. What it
looks like depends on its dialect alone, so that what another engine has compiled is what this one would.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.util import LRUCache

_ROOM = 4000  # statements
_WAYS = ("server_version_info", "is_mariadb", "paramstyle", "_backslash_escapes")  # in which one dialect may differ


class SharedCache:
    """The cache of one engine, as far as SQLAlchemy uses it; what is in it is found by other engines as well."""

    compiled: LRUCache[Any, Any] = LRUCache(_ROOM)

    def __init__(self, engine: Engine) -> None:
        dialect = engine.dialect
        self._way: Hashable = (type(dialect), *(getattr(dialect, name, None) for name in _WAYS))

    def get(self, key: tuple[Any, ...]) -> Any:
        """Return what was compiled for a dialect that writes as this one; a key begins with the dialect itself."""
        return self.compiled.get((self._way, *key[1:]))

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        self.compiled[self._way, *key[1:]] = compiled


def share_compiled() -> None:
    """Let each engine of this process have the common cache from its first connection on, when it knows its server."""
    event.listen(Engine, "engine_connect", _share)


def _share(connection: Connection) -> None:
    engine = connection.engine
    if not isinstance(engine._compiled_cache, SharedCache):
        engine._compiled_cache = SharedCache(engine)  # type: ignore[assignment]  # it has what is used of a mapping
