"""A disk that is full, a folder that is read-only or gone: one message, and a later start finishes the files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from scrawler.core.records.records import Mended
from scrawler.errors import ArchiveError
from tests.consistency import check_records, orphans_of
from tests.integration.crawl.records.fetching import Fetching, fetch_in_turn, names, records_of

Mount = Callable[[str], None]


@pytest.fixture
def mount(folder: Path) -> Iterator[Mount]:
    """Mounts (or remounts) a small file system in memory as the folder of the archive; only root may."""
    mounted = False

    def do(options: str) -> None:
        nonlocal mounted
        folder.mkdir(exist_ok=True)
        given = f"remount,{options}" if mounted else options
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", given, "none", folder], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"cannot mount: {done.stderr.strip()}")
        mounted = True

    yield do
    if mounted:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("own", [False, True])
def test_a_full_disk_at_the_end_is_one_message_and_done_later(
    own: bool, mount: Mount, fetching: Fetching, folder: Path, database_url: str
) -> None:
    mount("size=2m")
    orphans, _ = fetch_in_turn(fetching)
    records = records_of(fetching.database, folder)
    fetching.writer.close()
    ballast = folder / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(b"x" * 3_000_000)
    own_end = partial(records.finish_own, fetching.prefix, fetching.writer.closed_files())
    finish = own_end if own else partial(records.finish_gone, [fetching.prefix])
    with pytest.raises(ArchiveError, match=r"^cannot write .*\.cdxj: No space left on device$"):
        finish()
    assert not names(folder, ".cdxj")
    ballast.unlink()
    records.finish_gone([fetching.prefix])
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans


def test_a_read_only_folder_at_the_start_is_one_message_and_done_later(
    mount: Mount, fetching: Fetching, folder: Path, database_url: str
) -> None:
    mount("size=2m")
    orphans, _ = fetch_in_turn(fetching)
    fetching.vanish()
    mount("ro")
    records = records_of(fetching.database, folder)
    with pytest.raises(ArchiveError, match=r"^cannot write .*: Read-only file system$"):
        records.finish_gone([fetching.prefix])
    mount("rw")
    records.finish_gone([fetching.prefix])
    mount("ro")
    assert records.finish_gone([fetching.prefix]) == Mended()
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans


def test_a_folder_that_vanished_is_one_message_and_done_later(
    fetching: Fetching, folder: Path, tmp_path: Path, database_url: str
) -> None:
    orphans, _ = fetch_in_turn(fetching)
    fetching.writer.close()
    folder.rename(tmp_path / "elsewhere")
    records = records_of(fetching.database, folder)
    with pytest.raises(ArchiveError, match=r"^cannot write .*pages/crawl-m1.*: No such file or directory$"):
        records.finish_own(fetching.prefix, fetching.writer.closed_files())
    assert records.finish_gone([fetching.prefix]) == Mended()
    (tmp_path / "elsewhere").rename(folder)
    records.finish_gone([fetching.prefix])
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans
