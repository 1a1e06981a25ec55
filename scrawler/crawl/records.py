"""Keeps WARC files and database in step: mends what a killed machine left, indexes what is closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from scrawler.archive.cdxj import CdxRow, write_cdxj
from scrawler.archive.repair import cut_back, repair
from scrawler.model import PageRow


class PageRows(Protocol):
    """The part of the store that knows which records are committed."""

    def of_file(self, warc_file: str) -> Iterator[PageRow]:
        """The page rows whose records are in a file."""

    def files(self) -> Mapping[str, int]:
        """WARC file -> end of its last committed record."""


class Records:
    """The WARC files of one folder, as the page rows know them."""

    def __init__(self, folder: Path, pages: PageRows) -> None:
        self._folder, self._pages = folder, pages

    def mend(self, prefixes: Iterable[str]) -> int:
        """Cut off what machines that are gone wrote after their last checkpoint, and index their files.

        Those pages are fetched again. Returns the number of bytes cut off. Raises ArchiveError.
        """
        cut = 0
        for prefix in prefixes:
            names = [path.name for path in sorted(self._folder.glob(f"{prefix}-*.warc.gz")) if not _indexed(path)]
            if not names:
                continue
            known = self._pages.files()
            cut += sum(one.cut for one in repair(self._folder, prefix, known))
            for name in names:
                path = self._folder / name
                if path.exists():
                    cut += cut_back(path, known.get(name, 0))
            self.index(name for name in names if (self._folder / name).exists())
        return cut

    def index(self, names: Iterable[str]) -> None:
        """Write the sorted CDXJ of closed files, from their committed rows."""
        for name in names:
            write_cdxj(_index_of(self._folder / name), map(_cdx_row, self._pages.of_file(name)))


def _index_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj")


def _indexed(path: Path) -> bool:
    return _index_of(path).exists()


def _cdx_row(row: PageRow) -> CdxRow:
    return CdxRow(
        url=row.url,
        date_ms=row.fetched_at,
        mime=row.content_type,
        status=row.status,
        digest=row.digest,
        length=row.warc_length,
        offset=row.warc_offset,
        file=row.warc_file,
        revisit=bool(row.revisit),
    )
