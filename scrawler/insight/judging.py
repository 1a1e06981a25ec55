"""What the crawl's rules make of a URL that it has not fetched: scope, analyzer, robots.txt, depth and limits."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from scrawler.assembly.parts import make_filters, product_token
from scrawler.assembly.urls import url_limits
from scrawler.core.traps.patterns import pattern_of
from scrawler.errors import SettingsError
from scrawler.fetch.robots import RobotsRules
from scrawler.insight.answer import REFUSED, Fact, utc
from scrawler.insight.asked import Asked
from scrawler.model.robots import RobotsRow
from scrawler.model.rows import PatternRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.settings import Settings
from scrawler.store.claims.seeds import Seeds, SeedView
from scrawler.store.reading.traces import Traces
from scrawler.units import counted
from scrawler.urls.refusals import words_for
from scrawler.urls.scope import ScopeRule, joined_at, origin, scope_of, site_key
from scrawler.urls.verdict import Verdict
from scrawler.urls.wanted import url_patterns

_SITE_SEEDS = 1_000  # so many seeds of a site are looked at
_SHOWN = 5  # so many seeds are told one by one
_ANY_DEPTH = 1  # URL filters are asked at any depth but 0


@dataclass(frozen=True, slots=True)
class _Case:
    """The URL, and the seeds of its site: all, and those to which it is internal."""

    asked: Asked
    settings: Settings
    of_site: Sequence[SeedView]
    inside: Sequence[SeedView]


def judged(
    traces: Traces, seeds: Seeds, settings: Settings, scope: Scope, asked: Asked, site_id: int | None, *, seen: bool
) -> tuple[list[Fact], str]:
    """Return what came, or would come, of a link to the URL; REFUSED if that is refused before it is listed.

    `seen`: the crawl knows the URL, as listed, as a candidate, or as refused.
    """
    of_site = seeds.of_site(site_id, _SITE_SEEDS) if site_id is not None else ()
    inside = [one for one in of_site if any(map(_scope_of(one, scope).contains, asked.forms))]
    case = _Case(asked, settings, of_site, inside)
    if asked.verdict != Verdict.EXTERNAL:  # it is judged without a seed, for which all that is not refused is external
        return [] if seen else [_verdict_fact(case)], REFUSED
    facts = [_scope_fact(case, site_key(asked.url, scope))]
    row = traces.robots(origin(asked.url)) if settings.robots else None
    if row is not None:
        facts.append(_robots_fact(row, case))
    facts += [fact for one in inside[:_SHOWN] if (fact := _pattern_fact(one, traces.patterns(one.seed.id), asked))]
    if not seen:
        filtered, outcome = _filter_facts(case)
        if outcome:
            return [*filtered, *facts], outcome
        facts += filtered
        facts += [fact for one in inside[:_SHOWN] if (fact := _missed_fact(one, settings))]
        if not inside and (dropped := traces.dropped()):
            facts.append(_dropped_fact(dropped))
        facts.append(_not_seen_fact(case))
    return facts, ""


def _scope_of(view: SeedView, scope: Scope) -> ScopeRule:
    """Return the rule for a seed; what its URL was given as belongs to it where it, or its site, has moved."""
    home = view.seed.home_url
    return scope_of(home, scope, (view.seed.url, *joined_at(home, view.site_key, scope)))


_UNNAMED = (
    "URL filters have refused links of this site; what they say of this one is known where you name them, as by"
    " SCRAWLER_URL_FILTERS: a database alone loads no parts"
)


def _verdict_fact(case: _Case) -> Fact:
    asked, verdict = case.asked, str(case.asked.verdict)
    words = words_for(Verdict(verdict), asked.shown, case.settings.max_url_length, url_limits(case.settings))
    line = f"a link to it is refused, as {verdict}: {words}"
    if verdict == Verdict.FILE_TYPE and case.settings.assets:
        line += "; it would be fetched as an image, script or style of a page"
    refused = [(one.seed.url, one.seed.verdicts[verdict]) for one in case.inside if verdict in one.seed.verdicts]
    lines = [f"seed {url} refused {counted(number, 'link')} for this reason" for url, number in refused[:_SHOWN]]
    values = {"reason": verdict, "refused": [{"seed": url, "links": number} for url, number in refused[:_SHOWN]]}
    return Fact("rules", (line, *lines), values)


def _filter_facts(case: _Case) -> tuple[list[Fact], str]:
    """Ask the patterns, and the URL filters, which may not be installed where somebody asks why."""
    patterns = url_patterns(case.settings.include, case.settings.exclude)
    if patterns is not None and (words := patterns.refusal(case.asked.url)):
        line = f"a link to it is refused, as {Verdict.EXCLUDED}: {words}"
        return [Fact("rules", (line,), {"reason": Verdict.EXCLUDED, "evidence": words})], REFUSED
    if not case.settings.url_filters and any(Verdict.URL_FILTER in one.seed.verdicts for one in case.inside):
        return [Fact("rules", (_UNNAMED,), {"reason": None, "problem": _UNNAMED})], ""
    try:
        filters = make_filters(case.settings)
        words = filters.refusal(case.asked.url, "", _ANY_DEPTH) if filters is not None else ""
    except SettingsError as error:
        line = f"what the crawl's URL filters say of it is not known here: {error}"
        return [Fact("rules", (line,), {"reason": None, "problem": str(error)})], ""
    if not words:
        return [], ""
    line = f"a link to it is refused, as {Verdict.URL_FILTER}: {words}"
    return [Fact("rules", (line,), {"reason": Verdict.URL_FILTER, "evidence": words})], REFUSED


def _scope_fact(case: _Case, key: str) -> Fact:
    inside = [one.seed.url for one in case.inside]
    if inside:
        more = f" and {counted(len(inside) - _SHOWN, 'more seed')}" if len(inside) > _SHOWN else ""
        line = f"internal to seed {', '.join(inside[:_SHOWN])}{more}"
    elif case.of_site:
        line = f"external to all seeds: its site {key} has {counted(len(case.of_site), 'seed')}, none with it in scope"
    else:
        line = f"external to all seeds: none is of its site {key}"
    return Fact("scope", (line,), {"site": key, "internal_to": inside[:_SHOWN], "internal": len(inside)})


def _robots_fact(row: RobotsRow, case: _Case) -> Fact:
    token = product_token(case.settings)
    rules = RobotsRules.parse(row.status, zlib.decompress(row.body) if row.body else b"", token)
    allowed, rule = rules.allows(case.asked.url), rules.rule(case.asked.url)
    line = f"robots.txt of {row.origin}, had {utc(row.fetched_at)}, {'allows' if allowed else 'forbids'} it to {token}"
    line += "".join(f"; {words}" for words in (rule, row.detail) if words)
    values = {"allowed": allowed, "rule": rule, "token": token, "status": row.status, "fetched_at": row.fetched_at}
    return Fact("robots", (line,), values)


def _pattern_fact(view: SeedView, rows: list[PatternRow], asked: Asked) -> Fact | None:
    """Say what the URL's pattern has yielded for a seed, if it is capped."""
    row = pattern_of(asked.url, rows)
    if row is None or not row.evidence:
        return None
    line = f"seed {view.seed.url} fetches no more of its pattern {row.pattern}: {row.evidence}"
    values = {"seed": view.seed.url, "pattern": row.pattern, "fetched": row.fetched, "evidence": row.evidence}
    return Fact("pattern", (line,), values)


def _missed_fact(view: SeedView, settings: Settings) -> Fact | None:
    """Say what of a seed was left out, among which the URL may be."""
    seed = view.seed
    lines = []
    deep = seed.verdicts.get(Verdict.DEPTH, 0)
    if deep:
        depth = settings.max_depth
        lines.append(f"left out below depth {depth} of seed {seed.url}: {counted(deep, 'link')}; it may be among them")
    reason = seed.end_reason
    if reason not in (None, EndReason.COMPLETED, EndReason.MAX_DEPTH, EndReason.ENDLESS):
        lines.append(f"seed {seed.url} ended as {reason}: pages that link to it may not have been fetched")
    values = {"seed": seed.url, "left_out": deep, "end_reason": reason and reason.value}
    return Fact("missed", tuple(lines), values) if lines else None


def _dropped_fact(dropped: int) -> Fact:
    """Say how many external URLs were left out, of which most are noted nowhere."""
    line = f"external URLs left out, as max_candidates or mode drop wants: {dropped:,}; it may be among them"
    return Fact("missed", (line,), {"dropped": dropped})


def _not_seen_fact(case: _Case) -> Fact:
    unfinished = sum(one.seed.state is not SeedState.DONE for one in case.of_site)
    seeds = counted(unfinished, "seed of its site is", "seeds of its site are")
    so_far = f" so far; {seeds} not done" if unfinished else ""
    then = "listed" if case.inside else "handed back as a candidate seed"
    line = f"not seen: no crawled page links to it{so_far}. A link to it would have been {then}"
    return Fact("not-seen", (line,), {"would_be": "listed" if case.inside else "candidate", "unfinished": unfinished})
