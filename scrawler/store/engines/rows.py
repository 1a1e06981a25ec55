"""What several tables' files need of rows: seeds made of them, questions about them, long lists in slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    CursorResult,
    Insert,
    LargeBinary,
    Row,
    Select,
    Table,
    bindparam,
    insert,
)
from sqlalchemy import func as sql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from scrawler.model.claims import SiteState
from scrawler.model.results import PageFlag
from scrawler.model.seeds import EndReason, Seed, SeedCounts, SeedState
from scrawler.model.visits import UrlState
from scrawler.model.windows import Window
from scrawler.store.engines.faults import read_numbers, read_word
from scrawler.store.schema.tables import SEED_COUNTS, seed, site

T = TypeVar("T")

AnyRow: TypeAlias = Row[*tuple[Any, ...]]
AnySelect: TypeAlias = Select[*tuple[Any, ...]]

SLICE = 500  # values of an IN list: below the 1,000 from which MariaDB makes a subquery of it

Reaches = Callable[[str, int, str, str, str], bool]  # as `is_reachable` in urls/scope.py, of a URL, its depth, its seed
HOME_URL: ColumnElement[str] = sql.coalesce(seed.c.home_url, seed.c.url).label("home_url")
SEED_COLUMNS: tuple[ColumnElement[Any], ...] = (
    seed.c.id,
    seed.c.site_id,
    seed.c.url,
    HOME_URL,
    seed.c.rehomed,
    seed.c.hops,
    seed.c.state,
    seed.c.end_reason,
    seed.c.verdicts,
    seed.c.elapsed_ms,
    seed.c.slow_pass,
    seed.c.base_depth,
    seed.c.reopened,
    seed.c.round,
    *(seed.c[column.name] for column in SEED_COUNTS),
)
_FIRST_COUNT = len(SEED_COLUMNS) - len(SEED_COUNTS)
_FRESH = SeedCounts(), dict[str, int]()  # counts and verdicts of all seeds that were never crawled: nobody changes them


def seed_of(row: AnyRow, now: SeedState | None = None) -> Seed:
    """Make a Seed of a row of SEED_COLUMNS, in another state than it was read in where that has changed `now`."""
    identity, site_id, url, home_url, rehomed, hops, state, reason, verdicts, elapsed_ms = row[:10]
    slow_pass, base_depth, reopened, number = row[10:_FIRST_COUNT]
    numbers = row[_FIRST_COUNT : len(SEED_COLUMNS)]
    counts, said = _FRESH
    return Seed(
        identity,
        site_id,
        url,
        url if home_url == url else home_url,  # one text in memory, as nearly always
        rehomed,
        hops,
        now or read_word(SeedState, state),
        read_word(EndReason, reason) if reason else None,
        SeedCounts(*numbers) if any(numbers) else counts,
        read_numbers(verdicts) if verdicts else said,
        elapsed_ms,
        bool(slow_pass),
        base_depth,
        reopened,
        number,
    )


def in_order_of_id(query: AnySelect, state: SeedState | None, end_reason: EndReason | None) -> AnySelect:
    """Pick seeds so that an index yields them by id: nothing is sorted, however many there are.

    The index on state and end reason does so within one pair of them, and only seeds that are done have a reason. Those
    that are done for any reason are mostly most of all; they are picked from the table, in its own order.
    """
    query = query.order_by(seed.c.id)
    if state is None and end_reason is None:
        return query
    if end_reason is None and state is SeedState.DONE:
        return query.where(sql.coalesce(seed.c.state, "") == state.value)  # a bare column would choose its index
    wanted = [SeedState.DONE.value] if state is None else [state.value]
    if end_reason is not None and state not in (None, SeedState.DONE):
        wanted = []
    reason = seed.c.end_reason.is_(None) if end_reason is None else seed.c.end_reason == end_reason.value
    # MariaDB would take the index without the id, and read it from its start each time.
    return query.where(seed.c.state.in_(wanted), reason).with_hint(seed, "FORCE INDEX (seed_state)", "mysql")


def in_state(state: SiteState) -> ColumnElement[bool]:
    """Ask for sites in a state."""
    return site.c.state == state.value


def among(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Ask for the values in a list that is given when the statement is executed, as `among`.

    So the statement can be made once: to make it costs more than to execute it for few rows.
    """
    return column.in_(bindparam("among", expanding=True))


def inserted_id(result: CursorResult[*tuple[Any, ...]]) -> int:
    """Return the id that the database gave to the one row inserted."""
    key = result.inserted_primary_key
    assert key is not None  # SQLAlchemy has a key for every INSERT of one row
    return int(key[0])


def inserting_new(table: Table, dialect: str) -> Insert:
    """Insert rows but for those with a known key."""
    if dialect == "postgresql":
        # Imported only where it is used: it loads a tenth of what a command of SQLite's needs to start.
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table).on_conflict_do_nothing()
    return insert(table).prefix_with("IGNORE", dialect="mysql").prefix_with("OR IGNORE", dialect="sqlite")


def bytes_literals(connection: Connection, values: Iterable[bytes]) -> str:
    """Write bytes as they stand within the brackets of an IN; with parameters, long lists cost much more."""
    before = "'\\x" if connection.dialect.name == "postgresql" else "x'"
    return ",".join(f"{before}{one.hex()}'" for one in values)


class greatest_bytes(FunctionElement[bytes]):  # noqa: N801  # as SQLAlchemy's own functions
    """The greatest of the values of a column of bytes, in a group: PostgreSQL has no `max` of these before 18."""

    type = LargeBinary()
    name = "greatest_bytes"
    inherit_cache = True


@compiles(greatest_bytes)
def _greatest_bytes(element: greatest_bytes, compiler: Any, **words: Any) -> str:
    return f"max({compiler.process(element.clauses, **words)})"


@compiles(greatest_bytes, "postgresql")
def _greatest_bytes_of_digits(element: greatest_bytes, compiler: Any, **words: Any) -> str:
    return f"decode(max(encode({compiler.process(element.clauses, **words)}, 'hex') COLLATE \"C\"), 'hex')"


def without_nul(value: Any) -> Any:
    """Return a value as PostgreSQL takes it: its texts hold no NUL."""
    return value.replace("\0", "\\x00") if isinstance(value, str) and "\0" in value else value


def listed_depth(row: AnyRow | UrlState) -> int:
    """Return the depth with which the entry of a page row was listed: negative for assets."""
    return int(-row.depth if row.flags & PageFlag.ASSET else row.depth)


def window_of(row: AnyRow) -> Window | None:
    """Return the time of the day in which the owner of a site wants it to be asked, of its row."""
    return Window(row.window_from, row.window_to) if row.window_from != row.window_to else None


def sliced(values: Iterable[T], size: int = SLICE) -> Iterator[list[T]]:
    """Cut `values` into lists of at most `size`."""
    rest = iter(values)
    while part := list(islice(rest, size)):
        yield part
