"""Copies of an archive elsewhere: `--archive-to`, `scrawler archive-copy`, and what reads from there; S3 is moto's."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fsspec.implementations.local import LocalFileOpener

import scrawler
from scrawler.archive import locks
from scrawler.archive import remote as of_remote
from scrawler.archive.remote import DIGESTS, Remote, RemoteError, StoppedError
from scrawler.cli.cat import cat
from scrawler.cli.status import status
from scrawler.cli.verify import verify
from scrawler.core.progress import Progress
from scrawler.errors import ArchiveError, RecordsLostError, SettingsError
from scrawler.features.copies import copying
from scrawler.features.copies.cli import archive_copy
from scrawler.features.copies.copying import Copier, Copying
from scrawler.features.copies.note import note_file, read_note
from scrawler.features.metrics.inside import copies_families
from scrawler.features.texts.cli_corpus import corpus
from scrawler.model.copies import Copies
from tests.forks import run_python
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page
from tests.integration.fetch.servers import RawServer
from tests.limits import EARLY, FAR, HANGS

# moto stands in an environment of its own: no release of s3fs agrees with the newest boto3, and pip would try them all.
MOTO = Path(os.environ.get("SCRAWLER_S3_PYTHON", Path(__file__).parents[3] / ".venv-s3" / "bin" / "python"))
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
PROGRESS = Progress((), 0.0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0)
PATHS = tuple(f"/page{number}" for number in range(20))
PREFIX = "crawl-1a2-m"
FIRST, SECOND = (f"{PREFIX}1-20260101000000000-0000{number}.warc.gz" for number in range(2))


def body(path: str) -> str:
    return f"<p>words of {path} {random.Random(path).randbytes(90_000).hex()}</p>"  # it does not get smaller


SITE: dict[str, Reply] = {"/": page("home", links=PATHS), **{path: page(body(path)) for path in PATHS}}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of an empty bucket, whose server and keys the environment names."""
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: pip install -e '.[remote]'")
    if not MOTO.exists():
        pytest.skip(f"moto is not installed, which plays S3: no {MOTO} (make .venv-s3/.installed)")
    with subprocess.Popen([MOTO, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "key")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "moto-secret")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            patch.setenv("AWS_ENDPOINT_URL", address)
            s3fs.S3FileSystem().mkdir("warcs")
            yield "s3://warcs"
        server.stdin.close()  # it stops with it


@pytest.fixture(scope="module")
def crawled(s3: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str, str]:
    """A crawl that was copied while it ran, the URL of its site without the last slash, and that of its copies."""
    folder = tmp_path_factory.mktemp("crawled")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    server = RawServer(by_path(SITE))
    crawl.add([server.url()])
    url = f"{s3}/first/crawl"
    settings = crawl.settings(traps=False, threads=1, warc_size=1 << 20, near_duplicates="off", archive_to=url)
    with scrawler.Crawl(settings=settings) as library:
        summary = library.run()
    server.stop()
    warcs = list((folder / "pages").glob("*.warc.gz"))
    assert (summary.copied, summary.uncopied, summary.uncopied_why) == (len(warcs), 0, "")
    return crawl, server.url()[:-1], url


def run(command: object, crawl: Crawl, *words: str, pages: Path | None = None) -> Result:
    folder = ("--pages-dir", str(pages or crawl.folder / "pages"))
    return CliRunner().invoke(command, [*words, "--db", crawl.url, *folder])  # type: ignore[arg-type]


def test_what_was_copied_is_whole_and_no_secret_is_kept(crawled: tuple[Crawl, str, str]) -> None:
    crawl, _, url = crawled
    warcs = list((crawl.folder / "pages").glob("*.warc.gz"))
    told = json.loads(CliRunner().invoke(status, ["--db", crawl.url, "--json"]).stdout)["copies"]
    size = sum(warc.stat().st_size for warc in warcs)
    assert (told["to"], told["files"], told["bytes"], told["waiting"]) == (url, len(warcs), size, 0)
    remote = Remote(url)
    sizes = remote.sizes()
    for warc in (crawl.folder / "pages").glob("*.warc.gz"):
        index = warc.with_name(warc.name.removesuffix(".warc.gz") + ".cdxj")
        found = remote.digests(warc.name)
        for file in (warc, index):
            data = file.read_bytes()
            assert sizes.pop(file.name) == len(data)
            assert remote.read(file.name, 0, len(data)) == data
            assert found.pop(file.name) == hashlib.sha256(data).hexdigest()
        assert not found
        del sizes[warc.name + DIGESTS]
    assert not sizes
    assert b"moto-secret" not in b"".join(path.read_bytes() for path in crawl.folder.glob("crawl.db*"))


def test_pages_are_read_from_the_copies_where_they_are_gone(crawled: tuple[Crawl, str, str], tmp_path: Path) -> None:
    crawl, site, url = crawled
    here, away = tmp_path / "here.jsonl", tmp_path / "away.jsonl"
    assert run(corpus, crawl, str(here)).exit_code == 0
    moved = (crawl.folder / "pages").rename(tmp_path / "moved")
    try:
        unnamed = run(cat, crawl, f"{site}/page7").exception  # somebody else may have written the database
        assert f"copies are in {url}, which is not asked" in str(unnamed)
        assert body("/page7").encode() in run(cat, crawl, f"{site}/page7", "--archive-to", url).stdout_bytes
        assert run(corpus, crawl, str(away), "--archive", url).exit_code == 0
        places = {"pages_dir": crawl.folder / "pages", "archive_to": url}
        with scrawler.Crawl(crawl.folder / "crawl.db", **places) as library:
            assert all(
                body(page.url.removeprefix(site)) in page.html for page in library.pages() if "/page" in page.url
            )
        none = CliRunner().invoke(status, ["--db", crawl.url])
        assert "copied" not in none.stdout  # what the copier said went with the folder
        done = run(verify, crawl, "--archive-to", url)
        assert (done.exit_code, done.stdout) == (0, "file  offset  length  problem  url\n")
        lost = run(cat, crawl, f"{site}/page7", "--archive-to", (tmp_path / "none").as_uri()).exception
        assert isinstance(lost, RecordsLostError)
        with scrawler.Crawl(settings=crawl.settings(archive_to=url)) as library:
            assert library.run().lost == (0, 0, 0)  # what is elsewhere is not gone
        for _ in range(2):  # nor where neither this run nor the last one copies, but an earlier one did
            with scrawler.Crawl(settings=crawl.settings()) as library:
                assert library.run().lost == (0, 0, 0)
        assert body("/page7").encode() in run(cat, crawl, f"{site}/page7", "--archive-to", url).stdout_bytes
    finally:
        moved.rename(crawl.folder / "pages")
    assert away.read_bytes() == here.read_bytes()


def test_a_record_is_read_alone_and_pages_one_after_the_other_in_few_requests(
    crawled: tuple[Crawl, str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crawl, site, url = crawled
    asked: list[int] = []
    read = Remote.read

    def counted(self: Remote, name: str, offset: int, length: int) -> bytes:
        asked.append(length)
        return read(self, name, offset, length)

    monkeypatch.setattr(Remote, "read", counted)
    row = next(row for row in crawl.pages() if row.url == f"{site}/page7")
    run(cat, crawl, row.url, "--archive", url)
    assert asked == [row.warc_length]
    asked.clear()
    run(corpus, crawl, str(tmp_path / "out.jsonl"), "--archive", url)
    assert len(asked) <= 2 * len(list((crawl.folder / "pages").glob("*.warc.gz")))


def test_copies_are_verified(crawled: tuple[Crawl, str, str], tmp_path: Path) -> None:
    crawl, _, _ = crawled
    to = (tmp_path / "copies").as_uri()
    assert run(archive_copy, crawl, "--archive-to", to).exit_code == 0
    assert run(verify, crawl, "--archive", to).exit_code == 0
    one, other, *_ = sorted((tmp_path / "copies").glob("*.warc.gz"))
    other.with_name(other.name + DIGESTS).unlink()
    done = run(verify, crawl, "--archive", to)  # `&& rm pages/*.warc.gz` is not to go on
    assert isinstance(done.exception, RecordsLostError)
    assert str(done.exception).startswith("1 file is not copied to file://")
    data = one.read_bytes()
    one.write_bytes(data[:5_000] + b"xxx" + data[5_003:])
    done = run(verify, crawl, "--archive", to, "--json")
    assert isinstance(done.exception, RecordsLostError)
    assert {row["file"] for row in map(json.loads, done.stdout.splitlines())} == {one.name}
    assert "1 file is not copied there yet" in done.stderr


# -- the copier by itself ---------------------------------------------------------------------------------


def index_of(name: str) -> str:
    return name.removesuffix(".warc.gz") + ".cdxj"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two finished WARC files, one that is being written, and one of another crawl."""
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in (FIRST, SECOND, "other-9-m1-20260101000000000-00000.warc.gz"):
        (pages / name).write_bytes(name.encode() * 40)
        (pages / index_of(name)).write_bytes(b"lines of " + name.encode())
    (pages / f"{PREFIX}1-20260101000000000-00002.warc.gz").write_bytes(b"unfinished")
    return pages


def copier(folder: Path, url: str) -> Copier:
    return Copier(folder, PREFIX, Remote(url), Copies())


@pytest.fixture(params=["file", "s3"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return (tmp_path / "copies").as_uri()
    url: str = request.getfixturevalue("s3")
    return f"{url}/{tmp_path.name}"


def is_whole(folder: Path, url: str, *names: str) -> bool:
    remote = Remote(url)
    return all(
        remote.digests(name)
        == {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in (name, index_of(name))}
        and remote.read(name, 0, 1 << 20) == (folder / name).read_bytes()
        for name in names
    )


def test_only_what_is_not_there_whole_is_copied(folder: Path, to: str) -> None:
    first = copier(folder, to)
    first.work(lambda: False, pytest.fail)
    assert (first.done.files, first.done.waiting) == (2, 0)
    assert is_whole(folder, to, FIRST, SECOND)
    assert len(Remote(to).sizes()) == 6  # nothing of what is unfinished, or another crawl's, and no part of anything
    again = copier(folder, to)
    again.work(lambda: False, pytest.fail)
    assert (again.done.files, again.done.waiting, again.done.bytes) == (0, 0, 0)
    (folder / index_of(FIRST)).write_bytes(b"was indexed anew")
    again.work(lambda: False, pytest.fail)
    assert (again.done.files, again.done.bytes) == (1, 0)  # the WARC file itself stayed
    (folder / SECOND).write_bytes(b"was mended")
    Remote(to).remove_digests(FIRST)  # as after a kill before the end
    other = copier(folder, to)
    other.work(lambda: False, pytest.fail)
    assert other.done.files == 2
    assert is_whole(folder, to, FIRST, SECOND)


KILLED = """
import os, signal, sys
from pathlib import Path
from scrawler.archive import remote
from scrawler.features.copies.copying import Copier
from scrawler.core.progress import Copies
remote._READ = 1_000 if sys.argv[2].startswith("file") else remote._READ
copier = Copier(Path(sys.argv[1]), sys.argv[3], remote.Remote(sys.argv[2]), Copies())
parts = 0
def went(number):
    global parts
    parts += 1
    if parts == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
copier._went = went
copier.work(lambda: False, print)
"""


def test_a_copy_that_was_killed_goes_on_and_is_never_taken_for_whole(folder: Path, to: str) -> None:
    number, killed_after = (400, 5) if to.startswith("file") else (300_000, 10)  # S3 gets parts of 8 MiB
    (folder / SECOND).write_bytes(SECOND.encode() * number)
    words = [str(folder), to, PREFIX, str(killed_after)]
    done = run_python("-c", KILLED, *words)
    assert done.returncode == -signal.SIGKILL
    sizes = Remote(to).sizes()
    assert SECOND not in sizes
    assert is_whole(folder, to, FIRST)
    after = copier(folder, to)
    after.work(lambda: False, pytest.fail)
    assert after.done.files == 1
    data = (folder / SECOND).read_bytes()
    assert Remote(to).digests(SECOND)[SECOND] == hashlib.sha256(data).hexdigest()
    assert Remote(to).size(SECOND) == len(data)


def test_a_stop_leaves_nothing_half_done(folder: Path, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_remote, "_READ", 100)
    asked = iter([False, False, False, True])
    with pytest.raises(StoppedError):
        copier(folder, to).work(lambda: next(asked), pytest.fail)
    assert Remote(to).sizes() == {}


def test_a_full_disk_keeps_no_part(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")

    def refuse(file: object) -> None:
        raise full

    url = (tmp_path / "copies").as_uri()
    monkeypatch.setattr(of_remote, "_sync", refuse)
    monkeypatch.setattr(LocalFileOpener, "close", closed_by_refusal(LocalFileOpener.close, full))
    with pytest.raises(RemoteError, match="No space left"):
        copier(folder, url).work(lambda: False, pytest.fail)
    assert list((tmp_path / "copies").iterdir()) == []


def closed_by_refusal(close: Callable[[Any], None], error: OSError) -> Callable[[Any], None]:
    def closing(file: Any) -> None:
        close(file)
        raise error

    return closing


def test_a_place_that_is_away_is_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_url: str
) -> None:
    to = tmp_path / "copies"
    to.write_bytes(b"a file is where the folder should be")
    monkeypatch.setattr(copying, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(copying, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(copying, "_copier", lambda settings, remote, copies: Copier(folder, PREFIX, remote, copies))
    said: list[str] = []
    away, back = threading.Event(), threading.Event()

    def say(line: str) -> None:
        said.append(line)
        (back if away.is_set() else away).set()

    crawl = Crawl(tmp_path, sqlite_url)
    work = Copying(crawl.settings(archive_to=to.as_uri(), pages_dir=folder), say)
    monkeypatch.setattr(Remote, "check", lambda self: None)  # it goes away after that
    with work.at_work(threading.Event()):
        assert away.wait(HANGS)
        to.unlink()
        assert back.wait(HANGS)
    assert len(said) == 2, said
    assert said[0].endswith("copies wait, and are tried again")
    assert is_whole(folder, to.as_uri(), FIRST, SECOND)
    note = read_note(note_file(folder, PREFIX))
    assert note is not None
    assert (note.to, note.copies) == (to.as_uri(), work.copies)
    assert (note.copies.files, note.copies.waiting, note.copies.problem) == (2, 0, "")
    assert to.as_uri() in note.copies.last_error
    assert note.copies.failed_at
    told = {family.name: family.samples[0].value for family in copies_families(work.shown(PROGRESS))}
    assert told == {
        "scrawler_copied_files": 2,
        "scrawler_copied_bytes": sum((folder / name).stat().st_size for name in (FIRST, SECOND)),
        "scrawler_uncopied_files": 0,
        "scrawler_uncopied_bytes": 0,
        "scrawler_copying_fails": 0,
        "scrawler_copying_failed_seconds": note.copies.failed_at / 1000,
    }
    assert not list(copies_families(PROGRESS))  # of who copies nothing


def the_rest(folder: Path, to: Path, url: str, patch: pytest.MonkeyPatch, say: Callable[[str], None]) -> Copies:
    """What `copy_rest` has done; it raises what that does."""
    copies = Copies()
    patch.setattr(copying, "_FIRST_PAUSE", 0.01)
    patch.setattr(copying, "_copier", lambda settings, remote, copies, _: Copier(folder, PREFIX, remote, copies))
    settings = Crawl(to.parent, url).settings(archive_to=to.as_uri(), pages_dir=folder)
    copying.copy_rest(settings, copies, say=say)
    return copies


def test_files_that_cannot_be_read_are_told_and_stay_uncopied(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_url: str
) -> None:
    unread, unseen = (folder / f"{PREFIX}1-20250101000000000-0000{number}.warc.gz" for number in range(2))
    unread.mkdir()
    unseen.symlink_to(unseen)  # what is there, and refuses even to be looked at
    for path in (unread, unseen):
        (folder / index_of(path.name)).write_bytes(b"lines")
    copier(folder, (tmp_path / "copies").as_uri()).look()
    said: list[str] = []
    with pytest.raises(ArchiveError, match=r"^2 WARC files of .* not copied yet, which cannot be read"):
        the_rest(folder, tmp_path / "copies", sqlite_url, monkeypatch, said.append)
    assert [str(path) in line for path, line in zip((unread, unseen), said, strict=True)] == [True, True]
    assert is_whole(folder, (tmp_path / "copies").as_uri(), FIRST, SECOND)


def test_others_that_copy_are_waited_for(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_url: str
) -> None:
    lock = locks.take_lock(folder, PREFIX.removesuffix("m") + "copies")
    assert lock is not None
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        lock.release()

    copies = the_rest(folder, tmp_path / "copies", sqlite_url, monkeypatch, say)
    assert (copies.files, copies.waiting, copies.problem, len(said)) == (2, 0, "", 1)


class Patient(threading.Event):
    """Waits longer than it is told to; `waited` is set once somebody does wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.set()
        return super().wait(FAR)


def test_a_stop_is_heard_while_a_place_is_away(
    crawled: tuple[Crawl, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "copies"
    to.write_bytes(b"a file is where the folder should be")
    monkeypatch.setattr(Remote, "check", lambda self: None)  # it goes away after that
    enough = Patient()
    with scrawler.Crawl(settings=crawled[0].settings(archive_to=to.as_uri())) as library:
        monkeypatch.setattr(library, "_enough", enough)
        told: list[str] = []
        thread = threading.Thread(target=lambda: told.append(library.run().uncopied_why), daemon=True)
        thread.start()
        assert enough.waited.wait(HANGS)
        library.stop()
        thread.join(EARLY)
    assert "not copied yet: `scrawler archive-copy` copies them" in told[0]


def test_what_cannot_be_copied_is_told_in_a_line(crawled: tuple[Crawl, str, str], s3: str, tmp_path: Path) -> None:
    crawl, _, _ = crawled
    none = run(archive_copy, crawl, "--archive-to", "s3://none/x").exception
    assert isinstance(none, RemoteError)
    assert "\n" not in str(none)
    assert isinstance(run(archive_copy, crawl).exception, SettingsError)
    chained = "simplecache::ftp://key:secret@host/x"
    for url in ("pages", "s3://key:secret@warcs/x", chained, "file://host/x", "nonsense://x/y", "file:///"):
        error = run(archive_copy, crawl, "--archive-to", url).exception
        assert isinstance(error, SettingsError), url
    for url in ("ftp://key:secret@host/x", "ftp://key:secret#1@host/x", chained, "memory::s3://warcs/x"):
        refused = run(verify, crawl, "--archive", url)
        assert refused.exit_code == 2, url
        assert "secret" not in refused.output
        with crawl.opened() as opened, pytest.raises(SettingsError, match="keys stand in the environment") as raised:
            opened.reader(url)
        assert "secret" not in str(raised.value)
    own = run(archive_copy, crawl, "--archive-to", (crawl.folder / "pages").as_uri()).exception
    assert "is the folder of the WARC files itself" in str(own)
    with scrawler.Crawl(settings=crawl.settings(archive_to="s3://none/x")) as library, pytest.raises(ArchiveError):
        library.run()
