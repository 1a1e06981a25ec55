from __future__ import annotations

from pathlib import Path

import pytest

from scrawler.core.durable.costs import CheckpointCosts
from scrawler.core.progress import Progress, RunSummary
from scrawler.machine_run import Launch
from scrawler.settings import Settings
from scrawler.supervisor.messages import Failure, Remark, Report, order_line, read_order, read_report, report_line


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"scope": "domain", "delay": "1.5s", "pages_dir": "a/b", "resolve": "a.example=127.0.0.2", "max_time": 7},
        {"profile": "classic", "seen": "exact", "max_pages": None, "user_agent": 'Bot/1 "x"'},
    ],
)
def test_a_machine_gets_the_settings_of_its_supervisor(given: dict[str, object]) -> None:
    settings, launch = Settings.model_validate(given), Launch(1_700_000_000_123, 5, "crawl-18bcfe5687b-m")
    line = order_line(settings, launch)
    assert line.count(b"\n") == 1
    read, read_launch = read_order(line)
    assert (read, read_launch) == (settings, launch)
    assert read.model_fields_set == settings.model_fields_set
    assert isinstance(read.pages_dir, Path)


COSTS = CheckpointCosts().values()


@pytest.mark.parametrize(
    "report",
    [
        Progress((7,), 1.5, 10, 2.5, 12, 1000, 1, 3, 4, 5, 6, True, False, 3, 12.5, {"7": {"delay": 2}}, {"7": COSTS}),
        RunSummary((7, 9), "crawl", "ended", 2.0, 10, 12, 1000, 1, 5.0, 3, {"completed": 4}, ("a.warc.gz",)),
        Remark("the database is away"),
        Failure('disk full: "pages"\nsay more', 5),
    ],
)
def test_reports_come_back_as_they_were(report: Report) -> None:
    line = report_line(report)
    assert line.count(b"\n") == 1
    assert read_report(line) == report
