"""Files for users: whole or not at all, beside devices, links and what killed processes left."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from scrawler.errors import ScrawlerError
from scrawler.seeds.files import open_input
from scrawler.seeds.outputs import open_output
from tests.forks import python
from tests.limits import HANGS

_WRITER = """
import sys
from scrawler.seeds.outputs import open_output
with open_output(sys.argv[1]) as out:
    print("open", flush=True)
    sys.stdin.read()
"""


def write(name: Path | str, text: str) -> None:
    with open_output(str(name)) as out:
        out.write(text)


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    file = tmp_path / "made" / "out.txt"
    with open_output(str(file)) as out:
        out.write("x\n")
        assert not file.exists()
    assert file.read_text() == "x\n"
    assert list(file.parent.iterdir()) == [file]


def test_after_an_error_the_old_file_stays_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "out.txt.gz"
    file.write_text("old")
    with pytest.raises(TypeError), open_output(str(file)) as out:
        out.writelines(["new", 5])  # type: ignore[list-item]
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["out.txt", "out.csv.gz", "out.jsonl.zst"])
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    with open_output(str(tmp_path / name)) as out:
        out.write("grüße\n")
    with open_input(str(tmp_path / name), tmp_path) as stream:
        assert stream.read().decode() == "grüße\n"


def test_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ScrawlerError, match="cannot be written"), open_output(str(tmp_path / "file" / "x")):
        pass


def test_what_is_no_regular_file_is_written_to_and_stays(tmp_path: Path) -> None:
    device, link, pipe = tmp_path / "null", tmp_path / "link", tmp_path / "pipe"
    device.symlink_to("/dev/null")
    link.symlink_to(device)
    for name in (device, link):
        write(name, "x\n")
        assert name.is_symlink()
        assert name.is_char_device()
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe, "through\n")
    reader.join()
    assert read == ["through\n"]
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == sorted((device, link, pipe))


def test_behind_links_the_target_is_replaced_in_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "out.txt", tmp_path / "out.txt"
    link.symlink_to(Path("data") / "out.txt")
    write(link, "made\n")
    assert target.read_text() == "made\n"
    target.chmod(0o600)
    with open_output(str(link)) as out:
        out.write("new\n")
        assert target.read_text() == "made\n"
        assert [path.name for path in target.parent.iterdir() if path != target] == [f".out.txt.{os.getpid()}.part"]
    assert target.read_text() == "new\n"
    assert link.readlink() == Path("data") / "out.txt"
    assert target.stat().st_mode & 0o777 == 0o600, "who may read it stays"
    assert list(target.parent.iterdir()) == [target]


def test_dev_stdout_leads_to_the_file_that_is_open_there(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    with file.open("wb") as out:
        code = "from scrawler.seeds.outputs import open_output\nwith open_output('/dev/stdout') as out: out.write('x')"
        before = os.fstat(out.fileno()).st_ino
        assert python("-c", code, stdout=out.fileno()).wait(HANGS) == 0
    assert (file.read_text(), file.stat().st_ino) == ("x", before)


def test_what_a_killed_process_left_is_removed_but_not_what_is_being_written(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    writers = [python("-c", _WRITER, file, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    dead, living = writers
    for one in writers:
        assert one.stdout is not None
        assert one.stdout.readline() == "open\n"
    dead.kill()
    dead.wait()
    own, other = tmp_path / f".out.txt.{os.getpid()}.part", tmp_path / ".out.txt.x.part"
    own.write_text("of an earlier process of this number")
    other.write_text("somebody's")
    parts = {f".out.txt.{one.pid}.part" for one in writers}
    assert parts < {path.name for path in tmp_path.iterdir()}
    write(file, "new\n")
    left = {path.name for path in tmp_path.iterdir()}
    living.communicate()
    dead.communicate()
    assert left == {"out.txt", other.name, f".out.txt.{living.pid}.part"}
    assert {path.name for path in tmp_path.iterdir()} == {"out.txt", other.name}
