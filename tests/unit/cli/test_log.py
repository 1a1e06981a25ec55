from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrawler.api.log import LOG, log_event
from scrawler.cli.log import LogFormat, LogOptions, logged
from scrawler.model.events import Checkpoint, MachineDied, SeedEnded, SiteResting
from scrawler.model.seeds import EndReason

_AT = datetime(2026, 5, 1, 12, 0, 0, 250_000, UTC)
_ENDED = SeedEnded(_AT, "http://a.org/", EndReason.MAX_PAGES, "2 pages", 2, "a.org", "m1")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@contextmanager
def _files_end_at(size: int) -> Iterator[None]:
    """Let nothing be written beyond so many bytes of a file, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_of_json_has_what_the_event_has(tmp_path: Path) -> None:
    with logged(LogOptions(file=tmp_path / "log", written=LogFormat.JSON), print):
        log_event(_ENDED)
        log_event(SiteResting(_AT, "a.org", datetime(2026, 5, 1, 13, tzinfo=UTC)))
        log_event(Checkpoint(_AT, "m1", 3, 2, 1, 0))
    ended, resting = map(json.loads, _lines(tmp_path / "log"))
    time = {"time": "2026-05-01T12:00:00.250Z", "level": "info"}
    whose = {"seed": "http://a.org/", "site": "a.org", "machine": "m1"}
    came = {"reason": "max-pages", "detail": "2 pages", "pages": 2}
    assert ended == {**time, "event": "seed-ended", **whose, **came, "message": str(_ENDED)}
    assert (resting["event"], resting["until"]) == ("site-resting", "2026-05-01T13:00:00.000Z")


def test_a_line_of_text_is_one_line_without_passwords(tmp_path: Path) -> None:
    with logged(LogOptions(file=tmp_path / "log"), lambda line: None):
        log_event(MachineDied(_AT, "a\nb"))
        LOG.warning("mysql://me:secret@host/ is\nwaited for")
    died, waited = _lines(tmp_path / "log")
    assert died == r"2026-05-01T12:00:00.250Z WARNING machine a\nb died | machine=a\nb"
    assert waited.endswith(r"Z WARNING mysql://me:***@host/ is\nwaited for")


@pytest.mark.parametrize(("verbose", "shown"), [(0, 1), (1, 2), (2, 3)])
def test_what_is_shown(verbose: int, shown: int) -> None:
    said: list[str] = []
    with logged(LogOptions(verbose=verbose), said.append):
        log_event(MachineDied(_AT, "m1"))
        log_event(_ENDED)
        log_event(Checkpoint(_AT, "m1", 3, 2, 1, 0))
    assert said[1:2] == [str(_ENDED)][: shown - 1]
    assert len(said) == shown
    assert LOG.handlers == []


def test_a_file_that_is_moved_away_is_made_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with logged(LogOptions(file=log), print):
        LOG.info("one")
        log.rename(tmp_path / "log.1")
        LOG.info("two")
        log.unlink()
        LOG.info("three")
    assert [line.split()[-1] for line in _lines(tmp_path / "log.1") + _lines(log)] == ["one", "three"]


def test_a_line_that_was_torn_spoils_no_other_and_is_told_once(tmp_path: Path) -> None:
    log, said = tmp_path / "log", list[str]()
    with logged(LogOptions(file=log), said.append):
        LOG.info("first")
        with _files_end_at(log.stat().st_size + 10):
            LOG.info("torn")
            LOG.info("lost")
        LOG.info("last")
    first, torn, last = _lines(log)
    assert (first.split()[-1], len(torn), last.split()[-1]) == ("first", 10, "last")
    assert len(said) == 1
    assert "cannot be written: File too large; the crawl goes on" in said[0]
