"""The look-up of a page's hrefs in what their party knows, compiled (`_lookup.c`) where that was built, else in Python.

This is done for every link of a crawl, while about one in fifty has anything to be learned about. The compiled form
takes the hrefs as bytes, asks the seen filter what is listed already, and makes strings only of what is new. It judges
by itself plain hrefs that lead into a folder known to be internal as a whole, and plain URLs of other sites, so that
one in 250 is left to be learned about. Python looks up what it does not take (see `hrefs`), or all where nothing is
compiled.

The compiled form keeps an external link only when it comes for the second time: most stand on one page alone. Of the
newest that came once it keeps the bytes, so that few are learned twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final, NamedTuple, Protocol

from scrawler.compiled import compiled_part
from scrawler.urls.normalise import HTTP_SCHEMES, is_plain_name
from scrawler.urls.traps import UrlLimits
from scrawler.urls.verdict import Verdict

CACHED_HREF: Final = 256  # characters of an href that is remembered: longer ones hardly ever come again
_ROOTED = ("/", *HTTP_SCHEMES)

External = tuple[str]
Known = str | External | Verdict  # an internal URL, an external one, or why it is refused; the type tells them apart
Learn = Callable[[str, str], tuple[Known, bool]]


class LinkCache(NamedTuple):
    """A folder in which hrefs stand, and what is known there of hrefs cut before their fragment."""

    folder: str  # the page's URL up to the last slash of its path
    root: str  # the URL of its origin, with a slash
    is_plain: bool  # whether no step changes a URL for the folder's sake
    folder_number: int
    origin_number: int
    # Hrefs up to their last slash -> folder in which any plain name of a right type is internal. The compiled form
    # resolves hrefs itself, and asks for that folder alone.
    sure: dict[str, str]
    in_folder: dict[str, Known]
    in_origin: dict[str, Known]  # hrefs that mean the same in all folders of an origin


class ElsewhereRules(NamedTuple):
    """What must hold for a URL of another site to be external, spelt as it is but for the order of its query.

    The compiled form judges plain URLs by these, and leaves to Python what may be anything else.
    """

    prefixes: tuple[str, ...]  # internal URLs begin with one of these
    aliases: dict[str, str]  # it holds authorities that are known under another name
    marks: tuple[str, ...]  # what a parameter begins with that a step may take out, in lower case
    limits: UrlLimits
    sorts: bool  # whether parameters are put in the order of their names


class NameRules(NamedTuple):
    """What a name must fulfil for its URL to be internal, in a folder that is internal as a whole."""

    refused_types: Set[str]  # file extensions, lower case, without dot; a set or frozenset
    max_length: int  # bytes of a whole URL, at most
    sure_folders: set[str]  # URLs of the folders that are internal as a whole, to the compiled form
    elsewhere: ElsewhereRules | None = None


# Internal URLs, distinct and in order, and how many links led to them; external ones likewise; the number of links to
# the page itself; how many links are refused for which reason; the number of hrefs that were not in the cache and are
# now; the number of distinct internal URLs that are left out because they are listed already.
Found = tuple[list[str], int, list[str], int, int, dict[Verdict, int], int, int]


class KnownLinks(Protocol):
    """The compiled form: it keeps what is known of hrefs itself, by the numbers of folders and origins."""

    def look_up(
        self,
        hrefs: bytes,
        is_page: bool,
        cache: tuple[str, str, bool, int, int],
        rules: NameRules,
        room: int,
        learn: Learn,
        seen: object,
        /,
    ) -> Found:
        """Look up the hrefs of a page, as `Hrefs` holds them: one at least.

        URLs are left out that are in `seen`, where that is a compiled seen filter.
        """


def look_up(hrefs: Sequence[str], is_page: bool, cache: LinkCache, rules: NameRules, room: int, learn: Learn) -> Found:
    """Look up each href, cut before its fragment, in the cache of its folder, which takes up to `room` more.

    What leads to a folder that is `sure` is put together anew each time, as fast as it would be found in the cache: a
    site of 200 pages would fill 50 KB of that. What is in neither is judged by `learn`, given the href and its part
    before the fragment; it says also whether to remember that. `is_page`: an empty href, or a fragment alone, leads to
    the page.
    """
    internal: dict[str, None] = {}
    external: dict[str, None] = {}
    refused: dict[Verdict, int] = {}
    internal_times = external_times = same_page = remembered = 0
    for href in hrefs:
        path = href if "#" not in href else href[: href.index("#")]
        if not path and is_page:
            same_page += 1
            continue
        known = _in_sure_folder(path, cache, rules) or cache.in_folder.get(path) or cache.in_origin.get(path)
        if known is None:
            known, keeps = learn(href, path)
            if keeps and remembered < room:
                remembered += 1
                (cache.in_origin if path.startswith(_ROOTED) else cache.in_folder)[path] = known
        if isinstance(known, Verdict):
            refused[known] = refused.get(known, 0) + 1
        elif isinstance(known, tuple):
            external_times += 1
            external[known[0]] = None
        else:
            internal_times += 1
            internal[known] = None
    return list(internal), internal_times, list(external), external_times, same_page, refused, remembered, 0


def _in_sure_folder(path: str, cache: LinkCache, rules: NameRules) -> str:
    """Return the URL to which an href leads if that is surely internal, else an empty string."""
    if not 0 < len(path) <= CACHED_HREF:
        return ""
    start = path.rfind("/") + 1
    folder, name = cache.sure.get(path[:start]), path[start:]
    if folder is None or len(folder) + len(name) > rules.max_length or is_plain_name(name) is None:
        return ""
    return "" if "." in name and name.rpartition(".")[2].lower() in rules.refused_types else folder + name


_part = compiled_part("scrawler.urls._lookup")
COMPILED: Callable[[], KnownLinks] | None = None if _part is None else _part.KnownLinks
