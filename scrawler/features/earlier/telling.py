"""What `scrawler report` says of earlier crawls."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from scrawler.insight.reporting import Added, Reported
from scrawler.insight.sections import Section
from scrawler.model.results import PageFlag, Result


def sections(asked: Reported) -> Iterator[Added]:
    """Say what an earlier crawl had already, where one was asked."""
    if asked.since:
        return
    fetched = [one for one in asked.pages if one.result == Result.FETCHED]
    archived = [one for one in fetched if one.flags & PageFlag.EARLIER]
    unchanged = [one for one in fetched if one.status == HTTPStatus.NOT_MODIFIED]
    if not (archived or unchanged):
        return
    values = {
        "pages_not_sent": sum(one.pages for one in unchanged),
        "bytes_not_sent": sum(one.bytes for one in unchanged),
        "payloads_archived": sum(one.pages for one in archived),
        "bytes_archived": sum(one.bytes for one in archived),
    }
    yield Added("traps", Section("earlier", "What an earlier crawl has (dedup_from)", values))
