"""What a page of 32 KB costs on its way into the archive: `python tests/bench/bench_archive.py`.

Prints microseconds a page: the parts (best of some rounds), the whole in CPU and wall time with one thread and with
four, and the lines/s of the index. Compare figures of one run only.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from scrawler.archive.cdxj import write_cdxj
from scrawler.archive.gzipping import gzip_member, isal_member, zlib_member
from scrawler.archive.record import Exchange, RecordRef, digest, records_of
from scrawler.archive.repair import records_between
from scrawler.archive.warc import HELD_BYTES, WarcWriter
from scrawler.model.records import CdxRow

PAGE_BYTES = 32_768
PAGES = 64
ROUNDS = 12


def make_pages() -> list[Exchange]:
    """Make pages of marked-up words drawn from a heavy-tailed vocabulary, so that they compress about as HTML does."""
    rng = random.Random(1)
    letters = "etaoinshrdlu"
    words = ["".join(rng.choices(letters, k=rng.randrange(2, 11))) for _ in range(5_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    pages = []
    for number in range(PAGES):
        text = ""
        while len(text) < PAGE_BYTES:
            line = " ".join(rng.choices(words, weights, k=12))
            text += f'<li class="item"><a href="/{rng.choice(words)}/{rng.randrange(10**6)}.html">{line}</a></li>\n'
        body = text[:PAGE_BYTES].encode()
        pages.append(_exchange(number, body))
    return pages


def _exchange(number: int, body: bytes) -> Exchange:
    return Exchange(
        url=f"http://127.1.0.1:8080/docs/library/page-{number}.html",
        address="127.1.0.1",
        date_ms=1_700_000_000_000 + number,
        request_head=b"GET /docs/library/page.html HTTP/1.1\r\nHost: 127.1.0.1:8080\r\nUser-Agent: scrawler/0.1 "
        b"(+https://example.org/bot)\r\nAccept: text/html,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n",
        response_head=b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Type: "
        b'text/html; charset=utf-8\r\nContent-Length: 32768\r\nETag: "65-8000"\r\nConnection: keep-alive\r\n\r\n',
        body=body,
        payload_digest=digest(body),
    )


def best(label: str, pages: list[Exchange], work: Callable[[Exchange], object]) -> float:
    """Print and return the best round's microseconds a page."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for page in pages:
            work(page)
        times.append(time.perf_counter() - start)
    micros = min(times) / len(pages) * 1e6
    print(f"{label:44}{micros:9.1f} us")
    return micros


def measure_threads(pages: list[Exchange], threads: int) -> None:
    """Write the pages 30 times with so many threads sharing a writer."""
    with tempfile.TemporaryDirectory() as folder:
        writer = WarcWriter(Path(folder), "bench", info={"software": "bench"}, held_bytes=HELD_BYTES)
        share = len(pages) * 30 // threads
        refs: list[RecordRef] = []

        def work() -> None:
            for number in range(share):
                refs.append(writer.write(pages[number % len(pages)]))

        workers = [threading.Thread(target=work) for _ in range(threads)]
        wall, cpu = time.perf_counter(), time.process_time()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        writer.close()
        done = share * threads
        print(f"write, {threads} thread(s): CPU {cpu / done * 1e6:.1f} us, wall {wall / done * 1e6:.1f} us a page")
        if threads == 1:
            measure_repair(Path(folder), refs)


def measure_repair(folder: Path, refs: list[RecordRef]) -> None:
    """Look for uncommitted records of a file whose records are all committed, all but every tenth, and none."""
    path = folder / refs[0].file
    end = path.stat().st_size
    for label, known in (("all", refs), ("nine of ten", [ref for n, ref in enumerate(refs) if n % 10]), ("none", [])):
        start = time.perf_counter()
        found = sum(
            1 for _ in records_between(path, [(ref.offset, ref.length) for ref in known], end, lambda span: None)
        )
        seconds = time.perf_counter() - start
        assert found == len(refs) - len(known)
        print(f"repair, {label} committed: {seconds / len(refs) * 1e6:.1f} us a page, {end / seconds / 1e6:,.0f} MB/s")


def measure_index() -> None:
    """Write an index of 200,000 rows, with one merge."""
    rng = random.Random(2)
    rows = [
        CdxRow(
            f"https://www.example.com/a/{rng.randrange(10**9)}?x=1",
            1_700_000_000_000,
            "text/html",
            200,
            b"\0" * 20,
            7_000,
            number,
            "bench.warc.gz",
            False,
        )
        for number in range(200_000)
    ]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_cdxj(Path(folder) / "bench.cdxj", rows)
        print(f"index: {len(rows) / (time.perf_counter() - start):,.0f} lines/s")


def main() -> None:
    """Run all measurements."""
    pages = make_pages()
    built = {page.url: records_of(page) for page in pages}
    size = sum(len(gzip_member(response)) for _, response in built.values()) // len(pages)
    print(f"{PAGES} pages of {PAGE_BYTES:,} bytes, {size:,} as response member")
    best("SHA-1 of the payload (the caller's)", pages, lambda page: digest(page.body))
    best("both records built", pages, records_of)
    best("both records built, with block digests", pages, lambda page: records_of(page, block_digests=True))
    best("gzip of both, ISA-L", pages, lambda page: [isal_member(record) for record in built[page.url]])
    best("gzip of both, zlib level 6", pages, lambda page: [zlib_member(record) for record in built[page.url]])
    for held in (0, HELD_BYTES):
        with tempfile.TemporaryDirectory() as folder:
            writer = WarcWriter(Path(folder), "bench", info={"software": "bench"}, held_bytes=held)
            best(f"write, all in, {held:,} bytes held", pages, writer.write)
            writer.close()
    for threads in (1, 4):
        measure_threads(pages, threads)
    measure_index()


if __name__ == "__main__":
    main()
