"""URL filters: which of the links found are not followed, as packages of users say; each refusal has their reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from scrawler.errors import PluginError, is_interrupt
from scrawler.plugins import in_a_line


class UrlFilter(Protocol):
    """Says which URLs are not wanted.

    It is made once for a run of a machine, with the Settings, and called by one thread at a time; it must not block.
    The same URL is asked about again for each page with a link to it, until it is listed.
    """

    def __call__(self, url: str, page: str, depth: int) -> str:
        """Return why a link to `url` is not followed, in words; an empty text if it may be.

        `url` and `page`, on which it stands, are normalised; `depth` counts links from the seed. For `scrawler why`,
        and where it is not known any more, `page` is empty.
        """


class UrlFilters:
    """The filters of a crawl by name; the first one that refuses a URL counts."""

    def __init__(self, filters: Mapping[str, UrlFilter]) -> None:
        self._filters = dict(filters)

    def sift(self, urls: Iterable[str], page: str, depth: int) -> dict[str, str]:
        """Return the links of a page that are refused, with the filter and its reason. Raises PluginError."""
        return {url: words for url in urls if (words := self.refusal(url, page, depth))}

    def refusal(self, url: str, page: str, depth: int) -> str:
        """Return the name and reason of the filter that refuses a link, empty if none does. Raises PluginError."""
        for name, judge in self._filters.items():
            try:
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
