"""A database of SQLite with the tables of this version, as bytes: to write them takes a tenth of making the tables."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from sqlalchemy import make_url

from scrawler.store.engines.engine import open_database


def make_ready(url: str) -> None:
    """Give the database at a URL its tables, as its first user would, if it is a file of SQLite that is not there."""
    target = make_url(url)
    path = Path(target.database or "")
    if target.get_backend_name() == "sqlite" and not path.exists():
        path.touch(0o600)
        path.write_bytes(_empty())


@lru_cache(maxsize=1)
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        open_database(f"sqlite:///{path}").close()
        return path.read_bytes()
