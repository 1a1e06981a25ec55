"""The verdicts on a link, which are also the reasons that are counted for each seed."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What a link is to a party, or why it is refused."""

    INTERNAL = "internal"
    EXTERNAL = "external"
    SAME_PAGE = "same-page"  # empty, or a fragment only: leads to the page on which it stands
    SYNTAX = "syntax"  # no URL by the WHATWG rules: bad host, bad port, text that has no UTF-8 form
    SCHEME = "scheme"  # neither http nor https
    PORT = "port"  # one where another service listens, which browsers refuse to ask
    LENGTH = "length"
    FILE_TYPE = "file-type"  # by its extension surely no document
    SEGMENTS = "segments"  # too many of them in its path
    REPEATS = "repeats"  # a segment, or a row of segments, stands too often in a row
    PARAMETERS = "parameters"  # too many of them in its query
