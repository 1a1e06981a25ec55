"""The verdicts on a link, which are also the reasons that are counted for each seed."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What a link is to a party, why it is refused, or what became of one that is internal."""

    INTERNAL = "internal"
    EXTERNAL = "external"
    SAME_PAGE = "same-page"  # it is empty, or a fragment alone, and leads to the page on which it stands

    # These say why a link is refused, whatever party it is of.
    SYNTAX = "syntax"  # it is no URL by the WHATWG rules: bad host, bad port, text that has no UTF-8 form
    SCHEME = "scheme"  # it is neither http nor https
    PORT = "port"  # another service listens at its port, which browsers refuse to ask
    LENGTH = "length"
    FILE_TYPE = "file-type"  # by its extension it is surely no document
    SEGMENTS = "segments"  # its path has too many of them
    REPEATS = "repeats"  # a segment, or a row of segments, stands in its path too often in a row
    PARAMETERS = "parameters"  # its query has too many of them
    EXTERNAL_ASSET = "external-asset"  # it is an image, script or style from elsewhere
    NOFOLLOW = "nofollow"  # its page, or its rel, asks not to follow it
    EXCLUDED = "excluded"  # the user's patterns of URLs do not want it
    URL_FILTER = "url-filter"  # a filter of the user's refuses it
    SITEMAP_ELSEWHERE = "sitemap-elsewhere"  # it is a sitemap of another site
    SITEMAP_LIMIT = "sitemap-limit"  # it is one sitemap too many, or in an index too deep

    EXTERNAL_LIMIT = "external-limit"  # its page has too many bytes of external URLs, or its seed too many candidates
    OUTSIDE_BOUNDARY = "outside-boundary"  # a seed redirects to it, and it may not enter the crawl

    # These say why an internal link is not listed.
    SEEN = "seen"  # it is listed already
    TOO_MANY_REDIRECTS = "too-many-redirects"  # a page refreshes itself to it at once, at the end of a long chain
    DEPTH = "depth"  # it is deeper than max_depth
    TRAP = "trap"  # its pattern brings nothing new
    SEARCH_VIEW = "search-view"  # it is another view of what a search form was asked, or one page of it too many
    COVERED = "covered"  # it is a seed itself, which is fetched for that one


# A link with one of these has been counted as internal, or as external, as well.
COUNTED_AGAIN = frozenset(
    {
        Verdict.SEEN,
        Verdict.TOO_MANY_REDIRECTS,
        Verdict.DEPTH,
        Verdict.TRAP,
        Verdict.SEARCH_VIEW,
        Verdict.COVERED,
        Verdict.EXCLUDED,
        Verdict.URL_FILTER,
        Verdict.EXTERNAL_LIMIT,
        Verdict.OUTSIDE_BOUNDARY,
    }
)
