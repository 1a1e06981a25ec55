"""URL filters: which of the links found are not followed, as packages of users say; each refusal has their reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from scrawler.errors import PluginError, is_interrupt
from scrawler.plugins import in_a_line

SEED, REL, ANCHOR = "seed", "rel", "anchor"
WANTS = (SEED, REL, ANCHOR)  # what a filter can be told beside the URL, its page and its depth
_NOTHING_SAID = ("", "")


class UrlFilter(Protocol):
    """Says which URLs are not wanted.

    It is made once for a run of a machine, with the Settings, and called by one thread at a time; it must not block.
    The same URL is asked about again for each page with a link to it, until it is listed.

    A filter that needs to know more has an attribute `wants`, a tuple of words, and is called with what each of them
    names, by keyword: `seed` is the URL of the seed whose pages these are, as imported; `rel` the relations of the
    link, in lower case, with spaces between them; `anchor` its text (else that of its pictures), of at most 500
    characters. Pages are read once more for `rel` and `anchor`, some 0.3 ms each; who does not want them pays nothing.
    They are empty where the page says nothing, where the URL comes from a redirect, a sitemap or a frame, and where,
    as for `scrawler why`, the link is not known any more; then `seed` is empty as well.
    """

    def __call__(self, url: str, page: str, depth: int) -> str:
        """Return why a link to `url` is not followed, in words; an empty text if it may be.

        `url` and `page`, on which it stands, are normalised; `depth` counts links from the seed. For `scrawler why`,
        and where it is not known any more, `page` is empty.
        """


class UrlFilters:
    """The filters of a crawl by name; the first one that refuses a URL counts."""

    def __init__(self, filters: Mapping[str, UrlFilter]) -> None:
        """Ask each filter what it wants to know. Raises PluginError where that is nothing that can be known."""
        self._filters: dict[str, Callable[..., object]] = dict(filters)
        self._wants = {name: _wants(name, one) for name, one in filters.items()}
        wanted = {word for words in self._wants.values() for word in words}
        self._tells_more = bool(wanted)
        self.want_marks = bool(wanted & {REL, ANCHOR})  # whether any wants what pages say of their links

    def sift(
        self,
        urls: Iterable[str],
        page: str,
        depth: int,
        seed: str = "",
        marks: Mapping[str, tuple[str, str]] | None = None,
    ) -> dict[str, str]:
        """Return the links of a page that are refused, with the filter and its reason. Raises PluginError.

        `marks` are rel and anchor text of its links, by their URLs.
        """
        refused: dict[str, str] = {}
        for url in urls:
            said = _NOTHING_SAID if marks is None else marks.get(url, _NOTHING_SAID)
            if words := self.refusal(url, page, depth, seed, said):
                refused[url] = words
        return refused

    def refusal(self, url: str, page: str, depth: int, seed: str = "", mark: tuple[str, str] = _NOTHING_SAID) -> str:
        """Return the name and reason of the filter that refuses a link, empty if none does. Raises PluginError."""
        more: dict[str, str] = {}
        if self._tells_more:
            more = {SEED: seed, REL: mark[0], ANCHOR: mark[1]}
        for name, judge in self._filters.items():
            wants = self._wants[name]
            try:
                if wants:
                    reason = judge(url, page, depth, **{word: more[word] for word in wants})
                else:
                    reason = judge(url, page, depth)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                raise PluginError(f"URL filter {name} failed on {url}: {in_a_line(error)}") from error
            if not isinstance(reason, str):  # other people's code may return anything
                raise PluginError(
                    f"URL filter {name} failed on {url}: it returned a {type(reason).__name__}, not a text"
                )
            if reason:
                return f"{name}: {reason}"
        return ""


def _wants(name: str, judge: object) -> tuple[str, ...]:
    """Return the words of what a filter wants to know. Raises PluginError."""
    try:
        found = getattr(judge, "wants", ())
        words = (found,) if isinstance(found, str) else tuple(found)
    except BaseException as error:  # other people's code may raise anything
        if is_interrupt(error):
            raise
        raise PluginError(f"URL filter {name} does not say what it wants: {in_a_line(error)}") from error
    for word in words:
        if word not in WANTS:
            raise PluginError(f"URL filter {name} wants {word!r}, which cannot be known, only {', '.join(WANTS)}")
    return words
