"""A real pywb replays pages from our WARC and CDXJ files.

pywb needs a virtual environment of its own: it brings `brotlipy`, which takes the place of this project's `brotli`.
`python3 -m venv .venv-replay && .venv-replay/bin/pip install pywb==2.10.0` makes it (15 s); SCRAWLER_REPLAY_PYTHON
names an interpreter elsewhere. Without one these tests are skipped.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from scrawler.archive.cdxj import write_cdxj
from scrawler.archive.record import Exchange, RevisitOf
from scrawler.archive.surt import surt
from scrawler.model.records import CdxRow
from tests.limits import HANGS

PYTHON = Path(os.environ.get("SCRAWLER_REPLAY_PYTHON", Path(__file__).parents[3] / ".venv-replay" / "bin" / "python"))
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"pywb is not installed: no {PYTHON} (see the text of {Path(__file__).name})"
)

SERVER = """
from gevent.pywsgi import WSGIServer
from pywb.apps.frontendapp import FrontEndApp
server = WSGIServer(("127.0.0.1", 0), FrontEndApp(), log=None)
server.start()
print("port", server.server_port, flush=True)
server.serve_forever()
"""
KEYS = """
import json, sys
from pywb.utils.canonicalize import canonicalize
print(json.dumps([canonicalize(url) for url in json.load(sys.stdin)]))
"""
PARTS = (
    "a B / // .. . %2e %41 %2525 %20 + %C3%A9 ? & = a=2 b=1 && sid= x.aspx %00 %ff ~ | ; @ : CFID=1&CFTOKEN=2 "
    "jsessionid=0123456789abcdef0123456789ABCDEF PHPSESSID=0123456789abcdef0123456789abcdef (0123456789abcdef01234567)/"
)
HTML = b'<html><head><title>T</title></head><body><a href="/next">Words &amp; more</a></body></html>'
ZIPPED = gzip.compress(HTML.replace(b"Words", b"Zipped words"))
FIRST_MS, LATER_MS = 1_700_000_000_123, 1_700_086_400_456


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pywb folder with one collection, made by our writers."""
    return tmp_path_factory.mktemp("replay")


@pytest.fixture
def pywb(archive: Path, new_writer: Callable[..., Any], exchange: Callable[..., Exchange]) -> Iterator[str]:
    collection = archive / "collections" / "crawl"
    if not collection.exists():
        _fill(collection, new_writer(collection / "archive"), exchange)
    process = subprocess.Popen([PYTHON, "-c", SERVER], cwd=archive, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        line = next(line for line in process.stdout if line.startswith("port "))  # pywb has words of its own before
        yield f"http://127.0.0.1:{line.split()[1]}/crawl"
    finally:
        process.terminate()
        process.communicate()


def _fill(collection: Path, writer: Any, exchange: Callable[..., Exchange]) -> None:
    html = b"Content-Type: text/html; charset=utf-8\r\n"
    first = exchange("/docs/", HTML, fields=html + b"Transfer-Encoding: chunked\r\n", date_ms=FIRST_MS)
    exchanges = [
        first,
        exchange("/Zipped?b=2&a=1", ZIPPED, fields=html + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"),
        exchange("/copy", HTML, fields=html, date_ms=LATER_MS, revisit_of=RevisitOf(first.url, first.date_ms)),
        _not_modified(exchange("/docs/", HTML, date_ms=LATER_MS), first),
    ]
    refs = [writer.write(item) for item in exchanges]
    writer.close()
    rows = [
        CdxRow(
            item.url,
            item.date_ms,
            "text/html",
            _status(item),
            ref.digest,
            ref.length,
            ref.offset,
            ref.file,
            ref.revisit,
        )
        for item, ref in zip(exchanges, refs, strict=True)
    ]
    (collection / "indexes").mkdir()
    write_cdxj(collection / "indexes" / refs[0].file.replace(".warc.gz", ".cdxj"), rows)


def _not_modified(again: Exchange, first: Exchange) -> Exchange:
    """Make a visit of the one by which the server says that the page is as it was."""
    again.response_head = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'
    again.body = b""
    again.payload_digest = first.payload_digest
    again.revisit_of = RevisitOf(first.url, first.date_ms, said_by_server=True)
    return again


def _status(item: Exchange) -> int:
    return int(item.response_head.split()[1])


def test_pywb_replays_pages(pywb: str) -> None:
    pages = {
        "/20231114221320{}/http://127.1.0.1:8080/docs/": HTML,
        "/2023{}/http://127.1.0.1:8080/Zipped?b=2&a=1": gzip.decompress(ZIPPED),
        "/20231115221320{}/http://127.1.0.1:8080/copy": HTML,
        "/20231115221320{}/http://127.1.0.1:8080/docs/": HTML,
    }
    for path, payload in pages.items():
        raw = requests.get(pywb + path.format("id_"), timeout=HANGS)
        assert (raw.status_code, raw.content) == (200, payload), path
        page = requests.get(pywb + path.format("mp_"), timeout=HANGS)
        assert page.status_code == 200, path
        assert "ords &amp; more</a>" in page.text
        assert "http://127.1.0.1:8080/next" in page.text  # the link leads on into the archive
    missing = requests.get(pywb + "/2023id_/http://127.1.0.1:8080/never", timeout=HANGS)
    assert missing.status_code == 404


def test_keys_are_those_of_pywb() -> None:
    rng = random.Random(8)
    parts = PARTS.split(" ")
    hosts = ["example.com", "www.example.com", "www2.a.example:81", "127.1.0.1:8080", "[2001:db8::1]", "u:p@a.example."]
    urls = [
        f"{rng.choice(('http', 'https'))}://{rng.choice(hosts)}/{''.join(rng.choices(parts, k=rng.randrange(8)))}"
        for _ in range(5_000)
    ]
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", KEYS], input=json.dumps(urls), capture_output=True, text=True, check=True
    )
    assert [surt(url) for url in urls] == json.loads(done.stdout)
