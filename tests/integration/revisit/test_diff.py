"""`scrawler diff --body`: what it says, and that `patch` makes of one body the other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which

import pytest
from click.testing import CliRunner, Result

from scrawler.features.revisit.cli import diff_command
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page
from tests.integration.crawl.test_rounds import again
from tests.integration.fetch.servers import RawServer

BODIES = {
    "/latin1": (b"<meta charset=latin1><p>\xe9\nend\n", b"<meta charset=latin1><p>\xe8\nend\n"),
    "/utf8": ("<meta charset=utf-8>\n<p>é\n".encode(), "<meta charset=utf-8>\n<p>è\n".encode()),
    "/cut": (b"<p>one\n<p>two", b"<p>one\n<p>three"),
    "/ends": (b"<p>one\n<p>two", b"<p>one\n<p>two\n"),
    "/begins": (b"<p>one\n<p>two\n", b"<p>one\n<p>two"),
    "/lines": (
        b"<p>one\r\n<p>two\r<b>\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8same\r\nx\r\n",
        b"<p>one\r\n<p>2\r<b>\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8same\r\ny\r\n",
    ),
    "/invalid": (b"<meta charset=utf-8><p>\xff\n", b"<meta charset=utf-8><p>\xfe\n"),
    "/marked": (b"<p>one\n", b"\xef\xbb\xbf<p>one\n"),
    "/emptied": (b"<p>one\n<p>two\n", b""),
    "/big5": (b"<meta charset=big5><p>\xa4\xa4\n\x87z\n", b"<meta charset=big5><p>\xa4\xa5\n\x87z\n"),
    "/utf16": ("\ufeff<p>one\n<p>two\n".encode("utf-16-le"), "\ufeff<p>one\n<p>2\n".encode("utf-16-le")),
}
IN_UTF8 = {"/utf8", "/cut", "/ends", "/begins", "/lines", "/invalid", "/marked", "/emptied"}


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str]:
    """A crawl that has visited pages before and after a change."""
    folder = tmp_path_factory.mktemp("diff")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    replies = {"/": page(links=tuple(BODIES))} | {path: page(before) for path, (before, _) in BODIES.items()}
    server = RawServer(by_path(replies))
    crawl.add([server.url()])
    crawl.run(traps=False)
    replies.update({path: page(after) for path, (_, after) in BODIES.items()})
    again(crawl)
    crawl.run(traps=False)
    server.stop()
    return crawl, server.url()[:-1]


def run(visited: tuple[Crawl, str], path: str, *options: str) -> Result:
    crawl, site = visited
    folder = ("--pages-dir", str(crawl.folder / "pages"))
    done = CliRunner().invoke(diff_command, [site + path, *options, "--db", crawl.url, *folder])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.skipif(which("patch") is None, reason="patch not installed (Debian: patch)")
@pytest.mark.parametrize("path", BODIES)
def test_patch_makes_one_body_of_the_other(visited: tuple[Crawl, str], tmp_path: Path, path: str) -> None:
    before, after = BODIES[path]
    file = tmp_path / "body"
    for options in (("--bytes",), ()) if path in IN_UTF8 else (("--bytes",),):
        file.write_bytes(before)
        diff = run(visited, path, "--body", *options).stdout_bytes
        subprocess.run(["patch", "--binary", "--posix", file], input=diff, check=True, capture_output=True)
        assert (file.read_bytes() if file.exists() else b"") == after


def test_bodies_are_read_in_the_charset_of_their_page(visited: tuple[Crawl, str]) -> None:
    for path, gone, new in (("/latin1", "é", "è"), ("/big5", "中", "丰"), ("/utf16", "two", "2")):
        lines = run(visited, path, "--body").stdout.splitlines()
        assert any(line.startswith("-") and line.endswith(gone) for line in lines)
        assert any(line.startswith("+") and line.endswith(new) for line in lines)
    assert " 㡵" in run(visited, "/big5", "--body").stdout


def test_the_text_of_a_page_is_no_file(visited: tuple[Crawl, str]) -> None:
    assert "No newline" not in run(visited, "/cut").stdout
    assert "-two\n+three\n" in run(visited, "/cut").stdout
