"""Whether archive and database tell the same, judged by warcio, which knows nothing of this program."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from warcio.archiveiterator import ArchiveIterator

from scrawler.archive.record import base32, warc_date
from scrawler.model.rows import PageRow
from scrawler.store.engines.engine import Waiting, connect
from scrawler.store.lists.orphans import Orphans
from scrawler.store.reading.pages import Pages

_PIECE = 1 << 20  # bytes

Span = tuple[str, int, int]  # file, offset, length


class Answer(NamedTuple):
    """A response or revisit record, as warcio reads it."""

    url: str
    revisit: bool
    refers_to: tuple[str, str]  # URL and date of the record that holds the payload of a revisit


class Row(NamedTuple):
    """What a row says of its record: that of a page, or of an answer to a request for a robots.txt."""

    warc_file: str
    warc_offset: int
    warc_length: int
    url: str
    fetched_at: int
    revisit: int
    digest: bytes
    status: int

    @classmethod
    def of(cls, row: PageRow) -> Row:
        """Take what a page row says."""
        span = row.warc_file, row.warc_offset, row.warc_length
        return cls(*span, row.url, row.fetched_at, row.revisit, row.digest, row.status)


def check_records(database_url: str, pages_dir: Path, decodable: bool = True, earlier: Iterable[str] = ()) -> None:
    """Check a folder whose machines have all ended, or were mended; raises AssertionError.

    Each file is read once, in the way of `warcio check`, which undoes the coding that the head of a record names, and
    refuses a record that does not have its digests. Without `decodable`, because bodies are not in the coding that
    their heads name, records are read as they stand.

    Files are whole, and all digests are right; rows + orphans = records, none of both; the index of each file
    lists each committed page once, in order, but for those of which a server said that they are as they were; a
    revisit refers to a committed page, of this crawl or of one of those in the databases `earlier`; nothing else lies
    about.
    """
    there = set(pages_dir.iterdir()) if pages_dir.exists() else set()
    files = sorted(path for path in there if path.name.endswith(".warc.gz"))
    expected = {*files, *map(_index_of, files)}
    assert there == expected, f"without an index: {_some(expected - there)}; left behind: {_some(there - expected)}"
    rows, orphans = _rows(database_url)
    written = dict(answer for path in files for answer in _answers(path, decodable))
    _check_spans(rows, orphans, written)
    _check_contents(rows, written, [row for url in earlier for row in _rows(url)[0].values()])
    _check_indexes(files, rows)


def orphans_of(database_url: str) -> set[Span]:
    """The orphan rows of a database."""
    return set(_rows(database_url)[1])


def _index_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj")


def _rows(database_url: str) -> tuple[dict[Span, Row], list[Span]]:
    database = connect(database_url, Waiting(), create=False)
    try:
        archived = [Row.of(row) for row in Pages(database).all() if row.warc_file]
        columns = "warc_file, warc_offset, warc_length, url, fetched_at, 0, digest, status"
        with database.read() as connection:
            of_robots = connection.exec_driver_sql(f"SELECT {columns} FROM robots_record").all()
            archived += [Row(*row[:6], bytes(row[6]), row[7]) for row in of_robots]
        orphans = Orphans(database)
        found = [(file, *span) for file in orphans.files() for span in orphans.of_file(file)]
    finally:
        database.close()
    rows = {(row.warc_file, row.warc_offset, row.warc_length): row for row in archived}
    assert len(rows) == len(archived), "two rows refer to one record"
    return rows, found


def _answers(path: Path, decodable: bool) -> Iterator[tuple[Span, Answer]]:
    kind = found_in = ""
    with path.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        for record in records:
            kind, head = record.rec_type, record.rec_headers
            stream = record.content_stream() if decodable else record.raw_stream
            while stream.read(_PIECE):
                continue  # the digest is looked at once all is read
            span = (path.name, records.get_record_offset(), records.get_record_length())
            if kind == "metadata":
                assert not found_in, f"{path.name} has a metadata record of {found_in}, which does not follow"
                found_in = head.get_header("WARC-Concurrent-To")
            if kind in ("response", "revisit"):
                assert found_in in ("", head.get_header("WARC-Record-ID")), f"metadata of {found_in} before {span}"
                found_in = ""
                refers_to = (head.get_header("WARC-Refers-To-Target-URI"), head.get_header("WARC-Refers-To-Date"))
                yield span, Answer(head.get_header("WARC-Target-URI"), kind == "revisit", refers_to)
        end = records.offset
    assert end == path.stat().st_size, f"{path.name} ends in {path.stat().st_size - end} bytes that are no record"
    assert kind in ("response", "revisit"), f"{path.name} ends in a {kind or 'nothing'} record"


def _check_spans(rows: dict[Span, Row], orphans: list[Span], written: dict[Span, Answer]) -> None:
    both = rows.keys() & set(orphans)
    assert not both, f"orphans that have a row: {_some(both)}"
    lost = rows.keys() - written.keys()
    assert not lost, f"rows without their record: {_some(lost)}"
    ends = {file: 0 for file, _, _ in orphans}
    for file, offset, length in written:
        ends[file] = max(ends.get(file, 0), offset + length)
    gone = {span for span in orphans if span not in written and span[1] < ends[span[0]]}
    assert not gone, f"orphans without their record: {_some(gone)}"  # but for rows of what was cut off, taken back
    unknown = written.keys() - rows.keys() - set(orphans)
    assert not unknown, f"records with neither row nor orphan: {_some(unknown)}"


def _check_contents(rows: dict[Span, Row], written: dict[Span, Answer], earlier: list[Row]) -> None:
    committed = {(row.url, warc_date(row.fetched_at)) for row in (*rows.values(), *earlier) if not row.revisit}
    for span, row in rows.items():
        answer = written[span]
        assert (row.url, bool(row.revisit)) == answer[:2], f"row {row} refers to the record {answer} at {span}"
        if answer.revisit:
            assert answer.refers_to in committed, f"{span} is a revisit of {answer.refers_to}, which has no row"


def _check_indexes(files: list[Path], rows: dict[Span, Row]) -> None:
    listed: Counter[tuple[Span, str, str]] = Counter()
    for path in map(_index_of, files):
        lines = path.read_bytes().splitlines()
        assert lines == sorted(lines), f"{path.name} is not in order"
        for line in lines:
            one = json.loads(line.split(b" ", 2)[2])
            assert _index_of(path.with_name(one["filename"])) == path, f"{path.name} lists {one['filename']}"
            span = (one["filename"], int(one["offset"]), int(one["length"]))
            listed[span, one["url"], one["digest"]] += 1
    replayed = ((span, row) for span, row in rows.items() if not (row.revisit and row.status == 304))
    expected = Counter((span, row.url, base32(row.digest)) for span, row in replayed)
    twice = [key for key, times in listed.items() if times > 1]
    assert not twice, f"listed more than once: {_some(twice)}"
    assert listed == expected, f"not listed: {_some(expected - listed)}; without row: {_some(listed - expected)}"


def _some(found: Iterable[Any]) -> str:
    first = sorted(found)
    return f"{len(first)}, as {first[:3]}"
