"""The URL Analyzer: hrefs of a page in, internal and external URLs out, every href counted under its verdict.

Most links of a site stand on many of its pages, so a party remembers what its hrefs came to. What an href means
depends on the folder of the page on which it stands; one that starts with a slash, or names scheme and host, means
the same in all folders of an origin and is kept with the origin. Also known is which folders are internal as a whole:
of a link to one of them only the name is judged. All this is kept for each encoding of pages apart: links with queries
mean another URL in another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from sys import maxsize
from typing import Final, NamedTuple

from scrawler.urls.filetype import NOT_DOCUMENTS, is_refused_type
from scrawler.urls.hrefs import in_bytes
from scrawler.urls.lookup import (
    CACHED_HREF,
    COMPILED,
    ElsewhereRules,
    Known,
    KnownLinks,
    LinkCache,
    NameRules,
    look_up,
)
from scrawler.urls.normalise import HTTP_SCHEMES, MAX_URL_LENGTH, is_plain_url, normalise, resolve_plain
from scrawler.urls.query import AS_UTF_8, encode_query
from scrawler.urls.refusals import LONGEST_REFUSED, Sample, words_for
from scrawler.urls.scope import PrefixRule, ScopeRule, folder_of, origin, with_authority
from scrawler.urls.steps import MARKS, PARAMETER_MARKS, Steps
from scrawler.urls.traps import ShapeJudge, UrlLimits
from scrawler.urls.verdict import Verdict

CACHE_ENTRIES = 512  # entries of about 200 bytes; of the sites measured none gained more than a tenth from 65,536

_BOUND_TO_PAGE: Final = re.compile(r"https?:(?!//)", re.IGNORECASE)

# Members of an enum cost a look-up each time they are named.
_INTERNAL: Final = Verdict.INTERNAL
_EXTERNAL: Final = Verdict.EXTERNAL
_SAME_PAGE: Final = Verdict.SAME_PAGE


class Analysis(NamedTuple):
    """The links of one page: distinct normalised URLs in document order, and verdict -> times over all hrefs.

    Of the internal URLs so many more as `listed` says may be left out, which are known to be listed.
    """

    internal: list[str]
    external: list[str]
    counts: Mapping[str, int]
    listed: int = 0


class UrlAnalyzer:
    """Analyses the links of one party (SCrawler, section 3.2, step 6), by one thread at a time.

    `steps` is what `make_steps` made. `aliases` maps an authority to the one under which the same site is known
    (`192.0.2.7` -> `example.org`); it may gain entries while the party is in work. `refused_types` are file
    extensions, lower case, without dot. The cache holds at most `cache_entries` hrefs and folders; when full it begins
    anew. `compiled` makes what looks links up; None: that is done in Python. `sample` is offered what is refused, the
    first time that it is met.
    """

    __slots__ = (
        "_aliases",
        "_aliases_seen",
        "_cache_entries",
        "_caches",
        "_compiled",
        "_entries",
        "_in_origins",
        "_known",
        "_limits",
        "_max_length",
        "_of_any_type",
        "_refused_types",
        "_resolved",
        "_rules",
        "_sample",
        "_scope",
        "_shape",
        "_steps",
        "_sure_folders",
    )

    def __init__(
        self,
        scope: ScopeRule,
        *,
        max_length: int = MAX_URL_LENGTH,
        steps: Steps | None = None,
        limits: UrlLimits | None = None,
        refused_types: Set[str] = NOT_DOCUMENTS,
        aliases: Mapping[str, str] | None = None,
        cache_entries: int = CACHE_ENTRIES,
        compiled: Callable[[], KnownLinks] | None = COMPILED,
        sample: Sample | None = None,
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
        self._compiled = compiled
        self._known: KnownLinks | None = None
        self._caches: dict[str, LinkCache] = {}  # folder -> cache; an encoding but UTF-8 stands before it
        self._in_origins: dict[str, tuple[int, dict[str, Known]]] = {}
        self._resolved: dict[tuple[str, str], dict[str, str]] = {}  # folder and encoding -> href -> URL
        self._sure_folders: set[str] = set()  # folders that are internal as a whole, whatever leads to them
        self._rules = NameRules(refused_types, max_length, self._sure_folders, self._elsewhere_rules())
        self._entries = 0
        self._forget()
        self._sample = sample
        self._of_any_type: UrlAnalyzer | None = None

    def analyze(
        self, page: str, hrefs: Sequence[str], base: str = "", charset: str = "", seen: object = None
    ) -> Analysis:
        """Judge the links of `page`, a normalised URL; `base` is what its <base href> made of it, if it has one.

        `charset`, a WHATWG name, is the encoding of the document, and so that of its links' queries; empty: UTF-8. What
        is known of links is known for one encoding.
        A base that is no http URL is ignored (as HTML, 4.2.3, does with broken, data and javascript ones). With a base,
        a link that is only a fragment leads there. URLs may be left out that are in `seen`, the filter of those that
        are listed.
        """
        if not hrefs:
            return Analysis([], [], {})
        base = page if base in ("", page) else normalise(base, page, self._max_length).url or page
        self._keep_bounds()
        folder = folder_of(base)
        key, charset = (folder, "") if charset in AS_UTF_8 else (f"{charset} {folder}", charset)
        cache = self._caches.get(key) or self._new_cache(key, folder)
        learn = partial(self._learn, base, cache, charset)
        room = self._cache_entries - self._entries
        joined = None if self._known is None else in_bytes(hrefs)
        if self._known is None or joined is None:
            found = look_up(hrefs, base == page, cache, self._rules, room, learn)
        else:
            found = self._known.look_up(joined, base == page, cache[:5], self._rules, room, learn, seen)
        internal, internal_times, external, external_times, same_page, refused, remembered, listed = found
        self._entries += remembered
        counts: dict[str, int] = dict(refused.items())
        if internal_times:
            counts[_INTERNAL] = internal_times
        if external_times:
            counts[_EXTERNAL] = external_times
        if same_page:
            counts[_SAME_PAGE] = same_page
        return Analysis(internal, external, counts, listed)

    def judge(self, href: str, page: str) -> tuple[Verdict, str]:
        """Judge one link that hardly comes again: nothing is kept of it. The URL is empty if it is refused."""
        verdict, url = self._judge(*normalise(href, page, self._max_length))
        if not url:
            self._offer(verdict, href, page)
        return verdict, url

    def resolve(self, href: str, page: str, charset: str = "") -> str:
        """Return what a link leads to, be it of this party, a document or neither; empty if it is no URL."""
        href = encode_query(href, charset, self._max_length)
        url = normalise(href, page, self._max_length).url
        return self._spelt_here(url) if url else ""

    def resolve_all(self, hrefs: Iterable[str], base: str, charset: str = "") -> Iterator[str]:
        """Yield what each link of a page leads to, as `resolve` does; `base` is the page's URL, or its <base href>.

        What means the same on all pages of a folder is remembered: most links of a site stand on many of its pages.
        """
        self._keep_bounds()
        base = normalise(base, None, self._max_length).url or base
        folder = folder_of(base)
        root = origin(base) + "/"
        key = folder, "" if charset in AS_UTF_8 else charset
        known = self._resolved.get(key)
        if known is None:
            known = self._resolved[key] = {}
            self._entries += 1
        for href in hrefs:
            path = href.partition("#")[0]
            url = known.get(path)
            if url is None:
                plain = resolve_plain(path, folder, root) if 0 < len(path) <= CACHED_HREF else ""
                plain = plain if len(plain) <= self._max_length else ""
                url = self._spelt_here(plain) if plain else self.resolve(href, base, charset)
                if self._entries < self._cache_entries and (plain or _is_worth_keeping(path)):
                    known[path] = url
                    self._entries += 1
            yield url

    def redirected(self, page: str, location: str) -> Analysis:
        """Judge where `page` redirects.

        A redirect to another spelling of the page is followed as it is written: the server tells the two apart.
        """
        url = normalise(location, page, self._max_length).url
        if url and url != page and self.resolve(location, page) == page:
            internal = self._scope.contains(url)
            return Analysis([url], [], {_INTERNAL: 1}) if internal else Analysis([], [url], {_EXTERNAL: 1})
        return self.analyze(page, [location])

    def analyze_any_type(self, page: str, hrefs: Sequence[str], base: str = "", charset: str = "") -> Analysis:
        """Judge URLs on a page as `analyze` does, but refuse none for its file type."""
        if self._of_any_type is None:
            self._of_any_type = UrlAnalyzer(
                self._scope,
                max_length=self._max_length,
                steps=self._steps,
                limits=self._limits,
                refused_types=frozenset(),
                aliases=self._aliases,
                cache_entries=self._cache_entries,
                compiled=self._compiled,
                sample=self._sample,
            )
        return self._of_any_type.analyze(page, hrefs, base, charset)

    def _offer(self, verdict: Verdict, href: str, base: str) -> None:
        """Let the sample have a refused link, if it wants it."""
        if self._sample is not None and self._sample.wants(verdict):
            url = self._spelt(normalise(href, base, LONGEST_REFUSED).url) or href
            self._sample.add(verdict, url, words_for(verdict, url, self._max_length, self._limits))

    def _learn(self, base: str, cache: LinkCache, charset: str, href: str, path: str) -> tuple[Known, bool]:
        """Judge an href that is not known, and say whether to remember what it came to; `path` is as in `look_up`."""
        keeps = 0 < len(path) <= CACHED_HREF
        is_whole = keeps and path.startswith(HTTP_SCHEMES)
        # What is plain means the same in its folder: the cheaper question comes first.
        is_elsewhere = is_whole and not path.startswith(cache.root)
        plain = resolve_plain(path, cache.folder, cache.root) if keeps and not is_elsewhere else ""
        if plain and len(plain) <= self._max_length:
            folder = plain[: plain.rindex("/") + 1]
            if cache.is_plain and folder in self._sure_folders and not is_refused_type(plain, self._refused_types):
                verdict, url = _INTERNAL, plain
            else:
                verdict, url = self._judge_url(plain if cache.is_plain else self._spelt(plain))
            if verdict is _INTERNAL and cache.is_plain and self._trusts(path[: path.rfind("/") + 1], folder, cache):
                keeps = False  # whatever leads into that folder is told by it
        elif is_whole and len(path) <= self._max_length and is_plain_url(path):  # as most links to other sites are
            verdict, url = self._judge_url(self._spelt(path))
        else:
            keeps = keeps and _means_the_same_in_folder(path)
            text = path if keeps else href
            if charset:
                text = href = encode_query(text, charset, self._max_length)
            verdict, url = self._judge(*normalise(text, base, self._max_length))
        if verdict is _INTERNAL:
            return url, keeps
        if verdict is _EXTERNAL:
            return (href if href == url else url,), keeps  # where both are equal, the cache keeps one string
        self._offer(verdict, href, base)
        return verdict, keeps

    def _trusts(self, above: str, folder: str, cache: LinkCache) -> bool:
        """Tell whether plain names in a folder are surely internal, and remember it, and that an href leads there."""
        if folder not in self._sure_folders:
            if self._entries >= self._cache_entries or self._judge_url(folder) != (_INTERNAL, folder):
                return False
            if self._shape is not None and not self._shape.allows_any_in(folder):
                return False
            self._sure_folders.add(folder)
            self._entries += 1
        if self._known is None and above not in cache.sure:
            if self._entries >= self._cache_entries:
                return False
            cache.sure[above] = folder
            self._entries += 1
        return True

    def _spelt(self, url: str) -> str:
        return url if self._steps is None or MARKS.search(url) is None else self._steps(url)

    def _spelt_here(self, url: str) -> str:
        """Return how a URL is spelt by this party, which may know its authority under another name."""
        url = self._spelt(url)
        return with_authority(url, self._aliases) if self._aliases else url

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

    def _elsewhere_rules(self) -> ElsewhereRules | None:
        """Return by what the compiled form tells external URLs, if that can be told by how they begin."""
        if not isinstance(self._scope, PrefixRule) or not isinstance(self._aliases, dict):
            return None
        marks = () if self._steps is None else PARAMETER_MARKS
        sorts = self._steps is not None and self._steps.sorts
        limits = UrlLimits(maxsize, maxsize, maxsize) if self._limits is None else self._limits
        return ElsewhereRules(self._scope.prefixes, self._aliases, marks, limits, sorts)

    def _new_cache(self, key: str, folder: str) -> LinkCache:
        root = origin(folder)
        encoding = key[: -len(folder)]
        number, in_origin = self._in_origins.setdefault(encoding + root, (len(self._in_origins), {}))
        is_plain = self._steps is None or MARKS.search(folder) is None
        cache = self._caches[key] = LinkCache(
            folder, root + "/", is_plain, len(self._caches), number, {}, {}, in_origin
        )
        self._entries += 1
        return cache

    def _keep_bounds(self) -> None:
        """Begin a new cache when the old one is full, or may hold an authority that has become an alias."""
        if self._entries >= self._cache_entries or len(self._aliases) != self._aliases_seen:
            self._forget()
            self._aliases_seen = len(self._aliases)

    def _forget(self) -> None:
        self._caches, self._in_origins = {}, {}
        self._resolved = {}
        self._sure_folders.clear()
        self._entries = 0
        self._known = None if self._compiled is None else self._compiled()


def _is_worth_keeping(href: str) -> bool:
    path = href.partition("#")[0]
    return len(path) > 0 and len(href) <= CACHED_HREF and _means_the_same_in_folder(path)


def _means_the_same_in_folder(path: str) -> bool:
    """Whether an href, before its fragment, means the same on all pages of a folder, and is worth keeping.

    Not so for an empty one and for `?x`, nor for `http:x`, which is relative where the page itself is http. What the
    standard trims or takes out (spaces at the ends, tabs, line ends) could hide one of those.
    """
    if path[0] in "? " or path[-1] == " " or not path.isprintable():
        return False
    return path[0] not in "hH" or not _BOUND_TO_PAGE.match(path)
