"""What tables are made of: kinds of columns and indexes, and what each dialect is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BINARY,
    VARBINARY,
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TextClause,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

metadata = MetaData()

_OPTIONS: dict[str, dict[str, Any]] = {
    "mysql": {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"},
    "sqlite": {"strict": True},
}
# Rows that come and go: an id that was taken out already must never be that of another row, which SQLite else allows.
IN_PASSING: dict[str, Any] = {"info": {"in_passing": True}}
CLUSTERED: dict[str, Any] = {"info": {"clustered": True}}  # small rows that are read in key order


class _MediumBlob(LargeBinary):
    """MySQL's type of that name; to import its own loads the whole dialect, a twentieth of each command's start."""

    __visit_name__ = "MEDIUMBLOB"


class _MediumText(Text):
    """MySQL's type of that name, as above."""

    __visit_name__ = "MEDIUMTEXT"


PART = 262_144  # rows of an index that is kept in parts; with fewer, new rows cost less, and look-ups more
_USUAL_ROWS = 1_048_576  # what SQLite takes for the rows of a table of which it knows nothing

# One object for all columns of a kind: to make hundreds of them would take a while at each command's start.
NUMBER: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
HASH: TypeEngine[bytes] = LargeBinary().with_variant(BINARY(16), "mysql")
HASH_OR_NONE: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(16), "mysql")
DIGEST: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(20), "mysql")
CHECKS: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(28), "mysql")
MOMENTS: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(32), "mysql")
SPANS: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(8000), "mysql")
SHA256: TypeEngine[bytes] = LargeBinary().with_variant(VARBINARY(32), "mysql")
CHUNK: TypeEngine[bytes] = LargeBinary().with_variant(_MediumBlob(), "mysql")
_POSTGRESQL_TEXT = Text(collation="C")
TEXT: TypeEngine[str] = Text().with_variant(_POSTGRESQL_TEXT, "postgresql")
LONG_TEXT: TypeEngine[str] = TEXT.with_variant(_MediumText(), "mysql")


def row_id() -> Column[int]:
    """Make the column of numbers that the database gives."""
    # An identity, where there are such: the right to write the table is enough, and no sequence stands beside it.
    return Column("id", NUMBER, Identity(), primary_key=True, autoincrement=True)


def number(
    name: str, doc: str = "", *, default: int | None = None, key: bool = False, null: bool = False
) -> Column[int]:
    """Make a column of integers of 64 bits."""
    given = None if default is None else text(str(default))
    return Column(name, NUMBER, primary_key=key, autoincrement=False, nullable=null, server_default=given, doc=doc)


def small(name: str, doc: str = "", *, default: int | None = None, key: bool = False) -> Column[int]:
    """Make a column of integers of 32 bits."""
    given = None if default is None else text(str(default))
    return Column(name, Integer(), primary_key=key, autoincrement=False, nullable=False, server_default=given, doc=doc)


def word(
    name: str, length: int, doc: str = "", *, default: str | None = None, key: bool = False, null: bool = False
) -> Column[str]:
    """Make a column of texts of limited length, that can be a key."""
    return Column(name, _word_of(length), primary_key=key, nullable=null, server_default=default, doc=doc)


@lru_cache(maxsize=16)
def _word_of(length: int) -> TypeEngine[str]:
    kind: TypeEngine[str] = String(length).with_variant(Text(), "sqlite")
    return kind.with_variant(String(length, collation="C"), "postgresql")


def text_column(name: str, doc: str = "", *, null: bool = False, kind: TypeEngine[str] | None = None) -> Column[str]:
    """Make a column of texts of any length."""
    return Column(name, kind or TEXT, nullable=null, doc=doc)


def bytes_column(name: str, kind: TypeEngine[bytes], doc: str = "", *, key: bool = False) -> Column[bytes]:
    """Make a column of bytes."""
    return Column(name, kind, primary_key=key, nullable=False, doc=doc)


class _NoBytes(FunctionElement[bytes]):
    """Bytes of length 0, as a default is written."""

    type = LargeBinary()
    inherit_cache = True


@compiles(_NoBytes)
def _no_bytes(_element: _NoBytes, _compiler: object, **_words: object) -> str:
    return "x''"


@compiles(_NoBytes, "postgresql")
def _no_bytes_of_postgresql(_element: _NoBytes, _compiler: object, **_words: object) -> str:
    return "''"  # x'' would be bits


def optional_bytes(name: str, kind: TypeEngine[bytes], doc: str = "") -> Column[bytes]:
    """Make a column of bytes that may be empty."""
    return Column(name, kind, nullable=False, server_default=_NoBytes(), doc=doc)


def referrer_column(doc: str) -> Column[bytes]:
    """Make a column of the hash of the URL that led here."""
    return Column("referrer", HASH_OR_NONE, nullable=False, server_default=_NoBytes(), doc=doc)


def set_options(table: Table, dialect: str) -> None:
    """Give a table what only its dialect knows, before it is made.

    Said where the table is declared, that would load the dialects of all for each command.
    """
    options = _OPTIONS.get(dialect, {})
    if dialect == "sqlite" and table.info.get("clustered"):
        options = {**options, "with_rowid": False}
    if dialect == "sqlite" and table.info.get("in_passing"):
        options = {**options, "autoincrement": True}
    for name, value in options.items():
        table.dialect_options[dialect][name] = value


def statistics_of(table: Table) -> list[tuple[str, str]]:
    """Return what SQLite is told of a table's indexes, by their names, in the words of its table sqlite_stat1.

    Nobody lets it count them. Untold, it does not go from part to part of an index, but reads the whole table; and it
    looks for the pages of a URL among all those of a seed.
    """
    told = {str(index.name): index.info["statistics"] for index in table.indexes if "statistics" in index.info}
    return sorted(told.items())


def is_of(index: Index, dialect: str) -> bool:
    """Tell whether a dialect has this index, and give it what only PostgreSQL knows: which rows are in it.

    Said where the index is made, that would load PostgreSQL's dialect for each command, a twentieth of its start.
    """
    only: tuple[str, ...] | None = index.info.get("only")
    if dialect == "postgresql" and "where" in index.info:
        index.dialect_options[dialect]["where"] = text(index.info["where"])
    return only is None or dialect in only


def if_of(*given: Any, dialect: Dialect, **_: Any) -> bool:
    """Tell whether an index is to be made, as SQLAlchemy asks."""
    return is_of(given[1], dialect.name)  # what is to be made, the index, the connection, ...


def index(name: str, *columns: str, rows: int = 0) -> tuple[Index, Index]:
    """Make an index whose rows come in the order of their ids: on MySQL and SQLite each one has the id at its end.

    `rows` tells SQLite how many have the same values (0: it takes ten for usual).
    """
    statistics = {"statistics": f"{_USUAL_ROWS} {rows}"} if rows else {}
    plain = Index(name, *columns, info={"only": ("mysql", "sqlite"), **statistics}).ddl_if(callable_=if_of)
    with_id = Index(name, *columns, "id", info={"only": ("postgresql",)}).ddl_if(callable_=if_of)
    return plain, with_id


def index_in_parts(name: str, part: str | TextClause, columns: Sequence[str], same: str) -> tuple[Index, Index]:
    """Make an index of hashes. On SQLite each PART of rows, in the order in which they came, has one of its own.

    A hash stands anywhere in an index. Where that was one of 2,000,000 rows, each new row was another 4 KiB to be read
    and written: a page row took 21 us, and 12 in parts. A look-up goes through all parts (see `statistics_of`).

    `part` tells the number of a row's part; `same` how many rows of a part have the same values in the first of
    `columns`, in the first two, and so on.
    """
    whole = Index(name, *columns, info={"only": ("mysql", "postgresql")}).ddl_if(callable_=if_of)
    info = {"only": ("sqlite",), "statistics": f"{_USUAL_ROWS} {PART} {same}"}
    in_parts = Index(f"{name}_in_parts", part, *columns, info=info).ddl_if(callable_=if_of)
    return whole, in_parts


def tally(name: str, doc: str = "") -> Column[int]:
    """Make a column of counts, which begin with 0."""
    return number(name, doc, default=0)
