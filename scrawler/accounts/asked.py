"""The URL that somebody asks about, in the forms in which the crawl may know it."""

from __future__ import annotations

from dataclasses import dataclass

from scrawler.crawl.rejections import sample_text
from scrawler.errors import SettingsError
from scrawler.model import url_hash
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.normalise import normalise, seed_url
from scrawler.urls.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """A URL as asked for: as a link is normalised, else as a seed is, else as written."""

    url: str  # empty: the text has no URL that is ever crawled
    verdict: str  # of the analyzer that knows no seed: EXTERNAL if a link to it is not refused
    hashes: tuple[bytes, ...]  # of all its forms
    text: str  # as written

    @property
    def shown(self) -> str:
        """The form in which it is told."""
        return self.url or self.text.encode("utf-8", "backslashreplace").decode()


def read_asked(text: str, analyzer: UrlAnalyzer, max_length: int) -> Asked:
    """Read what was asked for as the crawl reads seeds and links; `analyzer` is of no seed, so that all is external.

    Raises:
        SettingsError: it is no URL at all.
    """
    seed, problem = seed_url(text, max_length)
    plain, reason = normalise(text, max_length=max_length)
    url = seed or plain
    if not url and reason not in (Verdict.SCHEME, Verdict.LENGTH):
        raise SettingsError(f"{text[:100]!r} is no URL: {problem}")
    if not url:
        return Asked("", reason or Verdict.SYNTAX, (url_hash(sample_text(text)),), text)
    analysis = analyzer.analyze(url, [url])
    as_link = analysis.external[0] if analysis.external else url
    forms = dict.fromkeys((as_link, url, sample_text(text)))
    verdict = next(iter(analysis.counts))
    return Asked(as_link, verdict, tuple(url_hash(form) for form in forms), text)
