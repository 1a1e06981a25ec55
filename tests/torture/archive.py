"""What stands in the WARC and CDXJ files of a crawl, read with warcio alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator


class Span(NamedTuple):
    """Where a record stands."""

    file: str
    offset: int
    length: int


class Record(NamedTuple):
    """A response or revisit record."""

    span: Span
    url: str
    status: str


def records(folder: Path) -> Iterator[Record]:
    """Yield the answers in all WARC files; raises where a file is torn or a digest is wrong."""
    for file in sorted(folder.glob("*.warc.gz")):
        with file.open("rb") as stream:
            answers = ArchiveIterator(stream, check_digests="raise")
            for record in answers:
                if record.rec_type not in ("response", "revisit"):
                    continue
                url, status = record.rec_headers.get_header("WARC-Target-URI"), record.http_headers.get_statuscode()
                record.content_stream().read()  # the length is known, and the digest is looked at, once all is read
                span = Span(file.name, answers.get_record_offset(), answers.get_record_length())
                yield Record(span, url, status)


class IndexLine(NamedTuple):
    """A line of a CDXJ file."""

    span: Span
    url: str


def index_lines(folder: Path) -> Iterator[IndexLine]:
    """Yield the lines of all CDXJ files; AssertionError where one is not sorted."""
    for file in sorted(folder.glob("*.cdxj")):
        lines = file.read_bytes().splitlines()
        assert lines == sorted(lines), f"{file.name} is not sorted"
        for line in lines:
            fields = json.loads(line.split(b" ", 2)[2])
            span = Span(fields["filename"], int(fields["offset"]), int(fields["length"]))
            yield IndexLine(span, fields["url"])
