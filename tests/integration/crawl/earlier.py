"""A crawl that refers to an earlier one, and what its archive says of that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warcio.archiveiterator import ArchiveIterator

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl


def another(crawl: Crawl, folder: Path) -> Crawl:
    folder.mkdir()
    return type(crawl)(folder, f"sqlite:///{folder / 'crawl.db'}")


def file_of(crawl: Crawl) -> str:
    return crawl.url.removeprefix("sqlite:///")


def records(crawl: Crawl, kind: str) -> dict[str, tuple[str, str, str]]:
    """URL -> profile, and URL and date of what they refer to, of the records of pages, as warcio reads them."""
    found = {}
    for path in (crawl.folder / "pages").glob("*.warc.gz"):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                says = record.rec_headers.get_header
                url = says("WARC-Target-URI") or ""
                if record.rec_type == kind and not url.endswith("/robots.txt"):
                    refers = says("WARC-Refers-To-Target-URI") or "", says("WARC-Refers-To-Date") or ""
                    found[url] = (says("WARC-Profile") or "", *refers)
    return found
