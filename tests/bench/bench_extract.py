"""Microseconds a page of the link extractors, on pages like those of documentation sites; not a test.

Run: python tests/bench/bench_extract.py [FOLDER ...]. With folders, their *.html files are the pages (200 at most, the
figures of html5lib and of the scan by tags from ten). Without, they are those of the sites of experiments.docsweb
that are installed, or else made up: 32 KB, 150 links.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from html.entities import html5
from pathlib import Path
from time import thread_time

from selectolax.lexbor import LexborHTMLParser

from experiments.docsweb.sites import SITES
from scrawler.extract.charset import to_utf8
from scrawler.extract.decode import decode_body
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkPolicy
from scrawler.extract.scanned import scanned
from scrawler.extract.scanner import COMPILED, ScannerExtractor
from scrawler.features.classic.reference import Html5libExtractor

PAGES, ROUNDS = 200, 5
URL, HEADER = "http://127.1.0.1/library/index.html", "text/html"


def made_up(number: int) -> bytes:
    """Make a page of about 32 KB with 150 links."""
    head = f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>Page {number}</title></head><body><ul>"
    links = (
        f'<li class="toc"><a class="internal" href="part{number}/c{n}.html#s">Chapter {n}</a></li>' for n in range(150)
    )
    words = "The quick <em>brown</em> fox jumps over the <code class='x'>lazy</code> dog &amp; runs on. " * 3
    paragraphs = (f'<div class="section" id="p{n}"><p>{words}</p></div>\n' for n in range(64))
    return (head + "".join(links) + "</ul>" + "".join(paragraphs) + "</body></html>").encode()


def read(folders: list[Path]) -> list[bytes]:
    """Read pages evenly spread over folders, as many of each."""
    pages: list[bytes] = []
    for folder in folders:
        files, most = sorted(folder.rglob("*.html")), PAGES // len(folders)
        pages += [file.read_bytes() for file in files[:: max(len(files) // most, 1)][:most]]
    return pages


def measure(pages: list[bytes], work: Callable[[bytes], object], rounds: int = ROUNDS) -> float:
    """Return the microseconds of CPU a page of the best round."""
    best = float("inf")
    for _ in range(rounds):
        begin = thread_time()
        for page in pages:
            work(page)
        best = min(best, thread_time() - begin)
    return best / len(pages) * 1e6


def main() -> None:
    """Print a line for each part."""
    folders = [Path(name) for name in sys.argv[1:]] or [site.root for site in SITES if site.root.is_dir()]
    pages = read(folders) if folders else [made_up(number) for number in range(PAGES)]
    lexbor, html5lib, policy = LexborExtractor(), Html5libExtractor(), LinkPolicy()
    few = pages[:: max(len(pages) // 10, 1)]
    links = sum(len(lexbor.links(page, URL, HEADER).hrefs) for page in pages)
    print(
        f"{len(pages)} pages, {sum(map(len, pages)) / len(pages) / 1e3:.1f} KB and {links / len(pages):.0f} links each"
    )
    zipped = [gzip.compress(page, 6) for page in pages]
    figures = {
        "gzip": measure(zipped, lambda body: decode_body(body, "gzip", 1 << 24)),
        "charset": measure(pages, lambda page: to_utf8(page, HEADER)),
        "hazards": measure(pages, is_hazardous),
        "parse alone": measure(pages, lambda page: LexborHTMLParser(page, options=1)),
        "lexbor links": measure(pages, lambda page: lexbor.links(page, URL, HEADER)),
        "html5lib links": measure(few, lambda page: html5lib.links(page, URL, HEADER), 1),
        "scan by tags": measure(few, lambda page: scanned(page, URL, policy, "utf-8", ""), 1),
        "lexbor text": measure(pages[:50], lexbor.text, 2),
    }
    if COMPILED:
        compiled, scanner = COMPILED, ScannerExtractor()
        figures["scan alone"] = measure(pages, lambda page: compiled(page, 0, html5))
        figures["scanner links"] = measure(pages, lambda page: scanner.links(page, URL, HEADER))
    for name, microseconds in figures.items():
        print(f"{name:>15} {microseconds:9.1f} us a page")


if __name__ == "__main__":
    main()
