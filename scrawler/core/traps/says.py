"""How much a page says that no page before it has said."""

from __future__ import annotations

from enum import IntEnum


class Says(IntEnum):
    """What a page brings, the least first."""

    NOTHING = 0  # the text of an earlier page, but for its URL, a date or a counter
    LITTLE = 1  # a number, a picture, a film or a frame; or known words in another text
    NUMBERS = 2  # a table of numbers
    NEW = 3  # a word; or it was not read
