"""Exchanges to archive, and the judges of what came out: warcio's checker and its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.archive.record import Exchange, RevisitOf, Truncation, digest
from scrawler.archive.warc import WarcWriter
from tests.forks import run_python

PAGE = b"<html><body>" + b"<p>Words of a page.</p>" * 400 + b"</body></html>"
Anything = Callable[..., Any]  # what fixtures give
INFO = {"software": "scrawler/test", "robots": "obey", "operator": "tests"}


@dataclass(frozen=True)
class ReadRecord:
    """One record as warcio reads it."""

    kind: str
    url: str
    status: str
    payload: bytes
    offset: int
    length: int
    truncated: str


def make_exchange(
    path: str,
    body: bytes,
    *,
    fields: bytes = b"Content-Type: text/html; charset=utf-8\r\n",
    truncated: Truncation = "",
    revisit_of: RevisitOf | None = None,
    date_ms: int = 1_700_000_000_123,
) -> Exchange:
    """Make the exchange of one page at http://127.1.0.1:8080."""
    return Exchange(
        url=f"http://127.1.0.1:8080{path}",
        address="127.1.0.1",
        date_ms=date_ms,
        request_head=f"GET {path} HTTP/1.1\r\nHost: 127.1.0.1:8080\r\nUser-Agent: scrawler\r\n\r\n".encode(),
        response_head=b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n",
        body=body,
        payload_digest=digest(body),
        truncated=truncated,
        revisit_of=revisit_of,
    )


def read_records(path: Path) -> list[ReadRecord]:
    """Read all records of a file with warcio, payloads without content decoding."""
    records = []
    with path.open("rb") as file:
        iterator = ArchiveIterator(file)
        for record in iterator:
            head = record.rec_headers
            payload = record.raw_stream.read()
            records.append(
                ReadRecord(
                    record.rec_type,
                    head.get_header("WARC-Target-URI") or "",
                    record.http_headers.get_statuscode() if record.http_headers else "",
                    payload,
                    iterator.get_record_offset(),
                    iterator.get_record_length(),
                    head.get_header("WARC-Truncated") or "",
                )
            )
    return records


def check_with_warcio(paths: Iterable[Path]) -> None:
    """Run `warcio check` on the files; every digest has to be right."""
    names = [str(path) for path in paths]
    assert names
    code = "import sys; from warcio.cli import main; sys.exit(main(sys.argv[1:]))"
    done = run_python("-c", code, "check", "-v", *names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "digest pass" in done.stdout
    assert done.stderr == ""


@pytest.fixture
def exchange() -> Callable[..., Exchange]:
    return make_exchange


@pytest.fixture
def read() -> Callable[[Path], list[ReadRecord]]:
    return read_records


@pytest.fixture
def warcio_check() -> Callable[[Iterable[Path]], None]:
    return check_with_warcio


@pytest.fixture
def new_writer(tmp_path: Path) -> Callable[..., WarcWriter]:
    def make(folder: Path | None = None, prefix: str = "m1", **options: object) -> WarcWriter:
        return WarcWriter(folder or tmp_path / "pages", prefix, info=INFO, **{"held_bytes": 0, **options})  # type: ignore[arg-type]

    return make
