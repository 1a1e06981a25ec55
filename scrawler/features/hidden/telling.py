"""What `scrawler why` and `scrawler report` say of search forms."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from scrawler.features.hidden.log import LedTo, SearchLog
from scrawler.insight.answer import Fact
from scrawler.insight.reporting import Added, Reported
from scrawler.insight.sections import Section, Table
from scrawler.store.engines.engine import Database
from scrawler.units import counted


def facts(database: Database, hashes: Collection[bytes]) -> Iterator[Fact]:
    """Say which query led to a URL, if one did."""
    if (led := SearchLog(database).led_to(hashes)) is not None:
        yield _search_fact(led)


def sections(asked: Reported) -> Iterator[Added]:
    """Say what search forms were asked, where any was."""
    log = SearchLog(asked.database)
    sums = log.sums(asked.seed_id)
    if asked.since or not sums.queries:
        return
    ends = [(end or "goes on", seeds) for end, seeds in sums.ends.items()]
    columns = ("seed", "form", "term", "answer_pages", "results", "new_urls")
    tables = (
        Table("ends", "Seeds by why no more is asked", ("end", "seeds"), ends, "seeds"),
        Table("best", "Queries that found most", columns, log.best(asked.seed_id)),
    )
    values = {"queries": sums.queries, "results": sums.results, "new_urls": sums.found}
    yield Added("politeness", Section("searches", "Search forms", values, tables))


def _search_fact(led: LedTo) -> Fact:
    """Say which query led to a URL."""
    query = led.query
    asked = f"query {query.number:,} of its seed: the form {query.form} asked for {query.term!r}"
    lines: tuple[str, ...]
    if not led.steps:
        answer = (
            f"{counted(query.answers, 'page')} of results, with {counted(query.found, 'URL')} that nothing had listed"
        )
        lines = (asked, f"its answer had {answer}")
    elif led.steps == 1:
        lines = (f"found by {asked}",)
    else:
        lines = (f"found by {asked}, {led.steps} pages on",)
    values = {"form": query.form, "term": query.term, "number": query.number, "steps": led.steps}
    return Fact("search", lines, values | {"results": query.results, "new_urls": query.found})
