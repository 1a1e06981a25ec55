"""The URL that somebody asks about, in the forms in which the crawl may know it."""

from __future__ import annotations

from dataclasses import dataclass

from scrawler.core.party.rejections import sample_text
from scrawler.model.terms import url_hash
from scrawler.settings import Settings
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.normalise import normalise, seed_url
from scrawler.urls.refusals import LONGEST_REFUSED
from scrawler.urls.scope import with_authority
from scrawler.urls.steps import spellings
from scrawler.urls.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """A URL as asked for."""

    forms: tuple[str, ...]  # how the crawl may spell it, as a link first; none if it is no URL that is ever crawled
    shown: str  # how it is spelt in the answer
    verdict: str  # what an analyzer without a seed says of a link to it: EXTERNAL if it is not refused
    hashes: tuple[bytes, ...]  # hashes of all its forms
    problem: str = ""  # what is wrong with it, in words

    @property
    def url(self) -> str:
        """The URL as a link to it is spelt; empty without any form."""
        return self.forms[0] if self.forms else ""


def read_asked(text: str, analyzer: UrlAnalyzer, settings: Settings) -> Asked:
    """Read what was asked for as the crawl reads seeds and links; `analyzer` is of no seed, so that all is external."""
    max_length = settings.max_url_length
    seed, problem = seed_url(text, max_length)
    plain, reason = normalise(text, max_length=max_length)
    url = seed or plain
    written = normalise(text, max_length=LONGEST_REFUSED).url or text  # samples of refused links are spelt so
    kept = sample_text(written).encode("utf-8", "backslashreplace").decode()
    if not url:
        return Asked((), kept, reason or Verdict.SYNTAX, _hashes(written, text), problem)
    as_link = analyzer.resolve(url, url)
    forms = list(dict.fromkeys((as_link, url)))
    if "www" in settings.normalise:
        forms += [with_authority(form, {mine: other}) for form in forms for other, mine in spellings(form).items()]
    return Asked(tuple(forms), as_link, analyzer.judge(url, url)[0], _hashes(*forms, written, text))


def _hashes(*forms: str) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(url_hash(one) for form in forms for one in (form, sample_text(form))))
