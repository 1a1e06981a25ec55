"""CDXJ: the sorted index beside a WARC file, one line a record that can be replayed: SURT key, 14-digit time, JSON.

Fields and spelling are those of pywb's own indexer, which looks payloads of revisits up by `digest`.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from http import HTTPStatus
from itertools import islice
from json.encoder import encode_basestring_ascii as _quoted  # quoting is all that JSON needs here, at half the cost
from os import urandom
from pathlib import Path
from typing import IO

from scrawler.archive.record import base32
from scrawler.archive.surt import surt
from scrawler.errors import ArchiveError
from scrawler.model.records import CdxRow

UNFINISHED = ".tmp"  # the end of the names of files that a killed process may leave
_ROWS_IN_MEMORY = 20_000  # some 10 MB; more are sorted in pieces on disk and merged


def write_cdxj(path: Path, rows: Iterable[CdxRow], rows_in_memory: int = _ROWS_IN_MEMORY) -> int:
    """Write the rows as lines in byte order, and put the file in place only once it is whole; return the rows' number.

    Raises ArchiveError where the folder or the disk refuses.
    """
    unfinished = path.with_name(f"{path.name}.{urandom(4).hex()}{UNFINISHED}")  # a name that no other writer has
    lines = map(cdxj_line, rows)
    try:
        with contextlib.ExitStack() as files, unfinished.open("xb") as out:
            pieces, number = _sorted_pieces(lines, rows_in_memory, path.parent, files)
            out.writelines(heapq.merge(*pieces))
            out.flush()
            os.fsync(out.fileno())  # under its name a file is whole, after a power cut as well
        os.replace(unfinished, path)
    except OSError as error:
        raise ArchiveError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    return number


def cdxj_line(row: CdxRow) -> bytes:
    """Write one row as a line with its line end; nothing for a server's word that a page is as it was.

    Players would show that answer, which is empty (pywb does so with each status of 3xx); without a line they show the
    visit before it.
    """
    url, date_ms, mime, status, digest, length, offset, file, revisit = row
    if revisit and status == HTTPStatus.NOT_MODIFIED:
        return b""
    if revisit:
        mime = "warc/revisit"
    return (
        f'{surt(url)} {_timestamp(date_ms // 1000)} {{"url": {_quoted(url)}, "mime": {_quoted(mime or "unk")}, '
        f'"status": "{status}", "digest": "{base32(digest)}", "length": "{length}", '
        f'"offset": "{offset}", "filename": {_quoted(file)}}}\n'
    ).encode()


@lru_cache(maxsize=64)
def _timestamp(seconds: int) -> str:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds))


def _sorted_pieces(
    lines: Iterator[bytes], size: int, folder: Path, files: contextlib.ExitStack
) -> tuple[list[Iterable[bytes]], int]:
    """Sort in pieces of `size` lines, all but the last of them in temporary files; return how many lines these are."""
    result: list[Iterable[bytes]] = []
    piece = sorted(islice(lines, size))
    while len(piece) == size:
        file: IO[bytes] = files.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
        file.writelines(piece)
        file.seek(0)
        result.append(file)
        piece = sorted(islice(lines, size))
    return [*result, piece], len(result) * size + len(piece)
