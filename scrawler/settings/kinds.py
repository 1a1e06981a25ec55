"""The types of settings: how a value is written, and what its text may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from scrawler.units import parse_bytes, parse_seconds


class Kind(StrEnum):
    """How a value is written, where its type does not say so; the text stands for it in help."""

    SECONDS = "TIME"
    BYTES = "SIZE"


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a text setting may hold, in words."""

    words: str


@dataclass(frozen=True, slots=True)
class Live:
    """Marks a setting that can be set while machines run."""


def split_list(value: object) -> object:
    """Split a text at its commas; leave other values as they are."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def some_of(names: Iterable[str]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """Return a check that a list holds only `names`."""
    known = frozenset(names)

    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [value for value in values if value not in known]:
            raise ValueError(f"unknown: {', '.join(unknown)}")
        return values

    return check


Seconds = Annotated[float, BeforeValidator(parse_seconds), Kind.SECONDS]
OptionalSeconds = Annotated[float | None, BeforeValidator(parse_seconds), Kind.SECONDS]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Kind.BYTES]
OptionalBytes = Annotated[int | None, BeforeValidator(parse_bytes), Kind.BYTES]
CrawlName = Annotated[str, Allowed("1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit")]
DatabaseUrl = Annotated[str, Allowed("a database URL such as sqlite:///scrawler.db or mysql://user:password@host/name")]
HeaderText = Annotated[str, Allowed("printable ASCII characters, at most 500, not blank")]
TokenText = Annotated[str | None, Allowed("letters, '_' and '-' (RFC 9309, 2.2.1)")]
HostAddresses = Annotated[
    tuple[str, ...], BeforeValidator(split_list), Allowed("host=address entries such as a.example=127.0.0.2")
]
Networks = Annotated[
    tuple[str, ...],
    BeforeValidator(split_list),
    Allowed("addresses such as ::1, or whole networks such as 10.1.0.0/16"),
]
MediaTypes = Annotated[
    tuple[str, ...], BeforeValidator(split_list), Allowed("media types such as text/html or image/*")
]
NORMALISE_STEPS = ("percent-case", "empty-query", "session-ids", "tracking", "sorted-query", "www")
NormaliseSteps = Annotated[
    tuple[str, ...],
    BeforeValidator(split_list),
    AfterValidator(some_of(NORMALISE_STEPS)),
    Allowed("steps among " + ", ".join(NORMALISE_STEPS)),
]
RELATIONS = ("nofollow", "ugc", "sponsored")
Relations = Annotated[
    tuple[str, ...],
    BeforeValidator(split_list),
    AfterValidator(some_of(RELATIONS)),
    Allowed("relations among " + ", ".join(RELATIONS)),
]

PartNames = Annotated[tuple[str, ...], BeforeValidator(split_list), Allowed("names that `scrawler plugins` lists")]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
DAY = 86_400
