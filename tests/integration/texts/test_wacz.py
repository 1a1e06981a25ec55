"""A crawl packed into one file for players: `scrawler wacz`."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator

from scrawler.archive.gzipping import GZIP
from scrawler.errors import RecordsLostError, SettingsError
from scrawler.features.texts import wacz as of_wacz
from scrawler.features.texts.cli_wacz import wacz
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page
from tests.integration.fetch.servers import RawServer
from tests.limits import HANGS

REPLAY = Path(os.environ.get("SCRAWLER_REPLAY_PYTHON", Path(__file__).parents[3] / ".venv-replay" / "bin" / "python"))
VALIDATOR = REPLAY.with_name("wacz")
PATHS = tuple(f"/page{number}" for number in range(30))


def noise(seed: str) -> str:
    return random.Random(seed).randbytes(90_000).hex()  # does not get smaller than these bytes


SITE: dict[str, Reply] = {
    "/": page("<title> The \n front </title><p>home", links=PATHS),
    **{path: page(f"<title>{path}</title><p>words of {path} {noise(path)}") for path in PATHS},
    "/page3": page("<p>no title"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str]:
    """A crawl of several WARC files, and the URL of its site without the last slash."""
    folder = tmp_path_factory.mktemp("crawled")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    server = RawServer(by_path(SITE))
    crawl.add([server.url()])
    crawl.run(traps=False, threads=1, warc_size=1 << 20, near_duplicates="off")
    server.stop()
    return crawl, server.url()[:-1]


def run(crawl: Crawl, file: Path, *words: str) -> Result:
    return CliRunner().invoke(wacz, [str(file), *words, "--db", crawl.url, "--pages-dir", str(crawl.folder / "pages")])


def packed(crawl: Crawl, file: Path, *words: str) -> zipfile.ZipFile:
    done = run(crawl, file, *words)
    assert done.exit_code == 0, done.output
    return zipfile.ZipFile(file)


def listed(file: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    head, *rows = map(json.loads, file.read(f"pages/{name}").splitlines())
    assert head["format"] == "json-pages-1.0"
    return rows


def index_lines(file: zipfile.ZipFile) -> Iterator[bytes]:
    """The lines of the index, block by block as its list says, each block by itself."""
    data = file.read("indexes/index.cdx.gz")
    head, *blocks = file.read("indexes/index.idx").decode().splitlines()
    assert json.loads(head.removeprefix("!meta 0 ")) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    for block in blocks:
        key, _, place = block.partition(" {")
        where = json.loads("{" + place)
        part = data[where["offset"] : where["offset"] + where["length"]]
        assert where["digest"] == f"sha256:{hashlib.sha256(part).hexdigest()}"
        lines = zlib.decompress(part, GZIP).splitlines()
        assert lines[0].startswith(key.encode() + b" {")
        yield from lines


def test_all_of_a_crawl_is_in_one_file(
    crawled: tuple[Crawl, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl, site = crawled
    monkeypatch.setattr(of_wacz, "_BLOCK", 7)
    monkeypatch.setattr(of_wacz, "_MERGED", 2)  # indexes are merged in two steps
    file = packed(crawl, tmp_path / "all.wacz", "--text")
    warcs = sorted((crawl.folder / "pages").glob("*.warc.gz"))
    assert len(warcs) > 2
    for warc in warcs:
        assert file.read(f"archive/{warc.name}") == warc.read_bytes()
        assert file.getinfo(f"archive/{warc.name}").compress_type == zipfile.ZIP_STORED
    assert file.fp is not None
    for part in file.infolist():  # replayweb.page takes the bytes right behind the name for those of the part
        file.fp.seek(part.header_offset + 28)
        assert file.fp.read(2) == b"\0\0", part.filename
    lines = list(index_lines(file))
    assert lines == sorted(line for warc in warcs for line in _cdxj(warc).read_bytes().splitlines())
    for line in lines:
        entry = json.loads(line[line.index(b"{") :])
        start = int(entry["offset"])
        member = file.read(f"archive/{entry['filename']}")[start : start + int(entry["length"])]
        (record,) = [one.rec_headers.get_header("WARC-Target-URI") for one in ArchiveIterator(BytesIO(member))]
        assert record == entry["url"]
    (first,) = listed(file, "pages.jsonl")
    assert (first["url"], first["title"]) == (site + "/", "The front")
    assert "home" in first["text"]
    others = {row["url"]: row for row in listed(file, "extraPages.jsonl")}
    assert others.keys() == {site + path for path in PATHS}
    assert others[f"{site}/page7"]["title"] == "/page7"
    assert others[f"{site}/page7"]["text"].startswith("words of /page7")
    assert others[f"{site}/page3"]["title"] == f"{site}/page3"
    package = json.loads(file.read("datapackage.json"))
    assert package["mainPageUrl"] == site + "/"
    for part in package["resources"]:
        data = file.read(part["path"])
        assert (part["bytes"], part["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")


def _cdxj(warc: Path) -> Path:
    return warc.with_name(warc.name.removesuffix(".warc.gz") + ".cdxj")


@pytest.mark.skipif(not VALIDATOR.exists(), reason=f"py-wacz is not installed: no {VALIDATOR} (make test-replay)")
def test_the_validator_of_its_makers_takes_it(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, _ = crawled
    file = tmp_path / "valid.wacz"
    packed(crawl, file)
    done = subprocess.run([VALIDATOR, "validate", "-f", file], capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stdout
    assert "is valid" in done.stdout


def test_what_is_not_finished_or_not_there_is_left_out(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, _ = crawled
    first, second, *_ = sorted((crawl.folder / "pages").glob("*.warc.gz"))
    index, gone = _cdxj(first).rename(tmp_path / "index"), second.rename(tmp_path / "gone")
    try:
        done = run(crawl, tmp_path / "part.wacz")
        assert done.exit_code == 0
        assert "left out: 1 WARC file that is not finished, 1 WARC file that is not here" in done.stderr
        names = zipfile.ZipFile(tmp_path / "part.wacz").namelist()
        assert not {f"archive/{first.name}", f"archive/{second.name}"} & set(names)
    finally:
        index.rename(_cdxj(first))
        gone.rename(second)


def test_what_cannot_be_packed_is_told_in_a_line_and_leaves_nothing(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, _ = crawled
    assert isinstance(run(crawl, tmp_path / "crawl.zip").exception, SettingsError)
    empty = Crawl(tmp_path, f"sqlite:///{tmp_path / 'empty.db'}")
    empty.add(["http://127.0.0.1:9/"])
    nothing = run(empty, tmp_path / "no.wacz").exception
    assert str(nothing) == "the crawl has archived nothing yet"
    torn = sorted((crawl.folder / "pages").glob("*.warc.gz"))[1]
    data = torn.read_bytes()
    torn.write_bytes(data[:2_000] + bytes(2_000) + data[4_000:])
    try:
        done = run(crawl, tmp_path / "lost.wacz")  # the file goes in as it is; what cannot be read is not listed
        assert isinstance(done.exception, RecordsLostError)
    finally:
        torn.write_bytes(data)
    assert [name for name in os.listdir(tmp_path) if "empty" not in name] == ["lost.wacz"]
