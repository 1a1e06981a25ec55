"""What `Crawl` does with reports."""

from __future__ import annotations

import os
from dataclasses import replace

from scrawler.api.opened import OpenedCrawl
from scrawler.api.since import Since, since_ms
from scrawler.features.report.html import html_page
from scrawler.features.report.report import make_report
from scrawler.insight.sections import Report
from scrawler.seeds.outputs import open_output


def report(
    crawl: OpenedCrawl, seed: str | None = None, html: str | os.PathLike[str] | None = None, since: Since = None
) -> Report:
    """Sum up what came of the crawl, or of a seed; with `html` that file gets it as a page with plots, too.

    With `since`, as `changes` takes it, only visits since that time are summed up.

    Printed it is what `scrawler report` shows; `as_json()` has its values. Raises InputError where there is no such
    seed, SettingsError for a file that the crawl needs.
    """
    if html is not None:
        crawl.keep_clear(os.fspath(html))
    view = None if seed is None else crawl.seed(seed, "SEED")
    made = make_report(crawl.database, crawl.stored, view, since_ms(since, crawl.database.now()))
    if html is not None:
        with open_output(os.fspath(html)) as out:
            out.writelines(html_page(replace(made, title=f"Report on {made.title}")))
    return made
