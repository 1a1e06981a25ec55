"""The URL Analyzer: hrefs of a page in, internal and external URLs out, every href counted under its verdict.

Most links of a site stand on many of its pages, so a party remembers what its hrefs came to. What an href means
depends on the folder of the page on which it stands; one that starts with a slash, or names scheme and host, means
the same in all folders of an origin and is kept with the origin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from copy import copy
from typing import NamedTuple

from scrawler.urls.filetype import NOT_DOCUMENTS, is_refused_type
from scrawler.urls.normalise import HTTP_SCHEMES, MAX_URL_LENGTH, normalise, resolve_plain
from scrawler.urls.refusals import LONGEST_REFUSED, Sample, words_for
from scrawler.urls.scope import ScopeRule, folder_of, origin, with_authority
from scrawler.urls.steps import MARKS, Step
from scrawler.urls.traps import ShapeJudge, UrlLimits
from scrawler.urls.verdict import Verdict

CACHE_ENTRIES = 4_096  # at about 200 bytes each; no documentation site measured gained more than a tenth from 65,536
_CACHED_HREF = 256  # characters; longer hrefs hardly ever come again

_ROOTED = ("/", *HTTP_SCHEMES)
_BOUND_TO_PAGE = re.compile(r"https?:(?!//)", re.IGNORECASE)

# Members of an enum cost a look-up each time they are named, and the loop over links names them often.
_INTERNAL, _EXTERNAL, _SAME_PAGE = Verdict.INTERNAL, Verdict.EXTERNAL, Verdict.SAME_PAGE


class Analysis(NamedTuple):
    """The links of one page: distinct normalised URLs in document order, and verdict -> times over all hrefs."""

    internal: list[str]
    external: list[str]
    counts: Mapping[str, int]


class _Known(NamedTuple):
    """What hrefs, cut before their fragment, came to; internal ones apart, for speed."""

    internal: dict[str, str]
    other: dict[str, tuple[Verdict, str]]  # external with its URL, or refused


class _Place(NamedTuple):
    """Where the hrefs in work stand, and what is known there."""

    base: str
    is_page: bool  # the base is the page itself
    folder: str  # the base up to the last slash of its path
    root: str  # the same of its origin
    is_plain: bool  # no step changes a URL for the folder's sake
    in_folder: _Known
    in_origin: _Known  # hrefs that mean the same in all its folders


class UrlAnalyzer:
    """Analyses the links of one party (SCrawler, section 3.2, step 6), by one thread at a time.

    `steps` is what `make_steps` made. `aliases` maps an authority to the one under which the same site is known
    (`192.0.2.7` -> `example.org`); it may gain entries while the party is in work. `refused_types` are file
    extensions, lower case, without dot. The cache holds at most `cache_entries` hrefs and folders; when full it begins
    anew.
    """

    def __init__(
        self,
        scope: ScopeRule,
        *,
        max_length: int = MAX_URL_LENGTH,
        steps: Step | None = None,
        limits: UrlLimits | None = None,
        refused_types: Set[str] = NOT_DOCUMENTS,
        aliases: Mapping[str, str] | None = None,
        cache_entries: int = CACHE_ENTRIES,
    ) -> None:
        self._scope = scope
        self._max_length = max_length
        self._steps = steps
        self._limits = limits
        self._shape = None if limits is None else ShapeJudge(limits)
        self._refused_types = refused_types
        self._aliases = {} if aliases is None else aliases
        self._aliases_seen = len(self._aliases)
        self._cache_entries = cache_entries
        self._known: dict[str, _Known] = {}
        self._entries = 0
        self.sample: Sample | None = None  # is offered what is refused and was not in the cache
        self._of_any_type: UrlAnalyzer | None = None

    def analyze(self, page: str, hrefs: Sequence[str], base: str = "") -> Analysis:
        """Judge the links of `page`, a normalised URL; `base` is what its <base href> made of it, if it has one.

        A base that is no http URL is ignored (as HTML, 4.2.3, does with broken, data and javascript ones). With a base,
        a link that is only a fragment leads there.
        """
        base = page if base in ("", page) else normalise(base, page, self._max_length).url or page
        self._keep_bounds()
        place = self._place(base, page)
        paths = [href if "#" not in href else href.partition("#")[0] for href in hrefs]
        in_origin = map(place.in_origin.internal.get, paths)
        targets: list[str | None] = list(map(place.in_folder.internal.get, paths, in_origin))
        misses = [i for i, target in enumerate(targets) if target is None]
        verdicts, external = self._judge_misses(misses, hrefs, paths, targets, place)
        counts: dict[str, int] = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
        if len(misses) < len(hrefs):
            counts[_INTERNAL] = counts.get(_INTERNAL, 0) + len(hrefs) - len(misses)
        internal = [url for url in dict.fromkeys(targets) if url is not None]
        return Analysis(internal, list(dict.fromkeys(external)), counts)

    def judge(self, href: str, page: str) -> tuple[Verdict, str]:
        """Judge one link that hardly comes again: nothing is kept of it. The URL is empty if it is refused."""
        verdict, url = self._judge(*normalise(href, page, self._max_length))
        if not url:
            self._offer(verdict, href, page)
        return verdict, url

    def resolve(self, href: str, page: str) -> str:
        """Return what a link leads to, be it of this party, a document or neither; empty if it is no URL."""
        url = self._spelt(normalise(href, page, self._max_length).url)
        return with_authority(url, self._aliases) if url and self._aliases else url

    def redirected(self, page: str, location: str) -> Analysis:
        """Judge where `page` redirects.

        A redirect to another spelling of the page is followed as it is written: the server tells the two apart.
        """
        url = normalise(location, page, self._max_length).url
        if url and url != page and self.resolve(location, page) == page:
            internal = self._scope.contains(url)
            return Analysis([url], [], {_INTERNAL: 1}) if internal else Analysis([], [url], {_EXTERNAL: 1})
        return self.analyze(page, [location])

    def analyze_any_type(self, page: str, hrefs: Sequence[str], base: str = "") -> Analysis:
        """Judge URLs on a page as `analyze` does, but refuse none for its file type."""
        if self._of_any_type is None:
            self._of_any_type = copy(self)
            self._of_any_type._refused_types = frozenset()
            self._of_any_type._known, self._of_any_type._entries = {}, 0
        return self._of_any_type.analyze(page, hrefs, base)

    def _judge_misses(
        self, misses: list[int], hrefs: Sequence[str], paths: list[str], targets: list[str | None], place: _Place
    ) -> tuple[list[Verdict], list[str]]:
        """Fill in the targets that are internal; return a verdict for each miss, and the external URLs."""
        in_folder, in_origin, is_page = place.in_folder.other, place.in_origin.other, place.is_page
        verdicts: list[Verdict] = []
        external: list[str] = []
        for i in misses:
            path = paths[i]
            if not path and is_page:
                verdicts.append(_SAME_PAGE)
                continue
            known = in_folder.get(path) or in_origin.get(path)
            verdict, url = known or self._learn(hrefs[i], path, place)
            verdicts.append(verdict)
            if verdict is _INTERNAL:
                targets[i] = url
            elif verdict is _EXTERNAL:
                external.append(url)
            elif known is None:
                self._offer(verdict, hrefs[i], place.base)
        return verdicts, external

    def _offer(self, verdict: Verdict, href: str, base: str) -> None:
        """Let the sample have a refused link, if it wants it."""
        if self.sample is not None and self.sample.wants(verdict):
            url = self._spelt(normalise(href, base, LONGEST_REFUSED).url) or href
            self.sample.add(verdict, url, words_for(verdict, url, self._max_length, self._limits))

    def _learn(self, href: str, path: str, place: _Place) -> tuple[Verdict, str]:
        """Judge an href that was not known when its page began; `path` is the href before its fragment."""
        target = place.in_folder.internal.get(path) or place.in_origin.internal.get(path)  # met further up on this page
        if target is not None:
            return _INTERNAL, target
        # What is plain means the same in its folder: the cheaper question comes first.
        plain = resolve_plain(path, place.folder, place.root) if 0 < len(path) <= _CACHED_HREF else ""
        if plain and len(plain) <= self._max_length:
            judged = self._judge_url(plain if place.is_plain else self._spelt(plain))
        elif _means_the_same_in_folder(path):
            judged = self._judge(*normalise(path, place.base, self._max_length))
        else:
            return self._judge(*normalise(href, place.base, self._max_length))
        if self._entries < self._cache_entries:
            self._entries += 1
            known = place.in_origin if path.startswith(_ROOTED) else place.in_folder
            if judged[0] is _INTERNAL:
                known.internal[path] = judged[1]
            else:
                known.other[path] = judged
        return judged

    def _spelt(self, url: str) -> str:
        return url if self._steps is None or MARKS.search(url) is None else self._steps(url)

    def _judge(self, url: str, reason: Verdict | None) -> tuple[Verdict, str]:
        return self._judge_url(self._spelt(url)) if reason is None else (reason, "")

    def _judge_url(self, url: str) -> tuple[Verdict, str]:
        if self._aliases:
            url = with_authority(url, self._aliases)
        if is_refused_type(url, self._refused_types):
            return Verdict.FILE_TYPE, ""
        if self._shape is not None and (over := self._shape.over(url)) is not None:
            return over, ""
        return (_INTERNAL if self._scope.contains(url) else _EXTERNAL), url

    def _place(self, base: str, page: str) -> _Place:
        folder, root = folder_of(base), origin(base)  # without a slash at its end, the origin is no folder's key
        is_plain = self._steps is None or MARKS.search(folder) is None
        return _Place(base, base == page, folder, root + "/", is_plain, self._known_in(folder), self._known_in(root))

    def _known_in(self, key: str) -> _Known:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known({}, {})
            self._entries += 1
        return known

    def _keep_bounds(self) -> None:
        """Begin a new cache when the old one is full, or may hold an authority that has become an alias."""
        if self._entries >= self._cache_entries or len(self._aliases) != self._aliases_seen:
            self._known = {}
            self._entries = 0
            self._aliases_seen = len(self._aliases)


def _means_the_same_in_folder(path: str) -> bool:
    """Whether an href, before its fragment, means the same on all pages of a folder, and is worth keeping.

    Not so for an empty one and for `?x`, nor for `http:x`, which is relative where the page itself is http. What the
    standard trims or takes out (spaces at the ends, tabs, line ends) could hide one of those.
    """
    if not path or len(path) > _CACHED_HREF or path[0] in "? " or path[-1] == " " or not path.isprintable():
        return False
    return path[0] not in "hH" or not _BOUND_TO_PAGE.match(path)
