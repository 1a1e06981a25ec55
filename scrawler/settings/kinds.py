"""The types of settings: how a value is written, and what its text may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr

from scrawler.model.proxy import read_proxy
from scrawler.model.url_pattern import url_pattern
from scrawler.units import parse_bytes, parse_seconds


class FeatureSettings(BaseModel):
    """The settings of a feature; those of a crawl are made of all of them. Each is marked as the crawler's own are."""

    # What checks values is built once, for all of them: by `Settings`.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    @classmethod
    def of(cls, settings: BaseModel) -> Self:
        """Return the settings of a crawl as those of this feature, which they are as well."""
        assert isinstance(settings, cls)
        return settings


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


@dataclass(frozen=True, slots=True)
class ByHost:
    """Marks a setting that may stand under [sites."HOST"], for the sites of that host."""

    only: bool = False  # whether it may stand nowhere else
    by_scheme: bool = False  # whether it may stand under [sites."http://HOST"] as well
    in_tls: bool = False  # whether it goes to http:// only from there


@dataclass(frozen=True, slots=True)
class Secret:
    """Marks a setting that may hold a secret: no message, list or row of the database shows its value."""


@dataclass(frozen=True, slots=True)
class Own:
    """Marks a setting that holds as the user gives it now, whatever the database has of the last run."""


@dataclass(frozen=True, slots=True)
class NamesDatabase:
    """Marks a setting that names a database: its URL may hold a password, so no row of another one has it."""


@dataclass(frozen=True, slots=True)
class OfArchive:
    """Marks a setting that says where archived records are, for all who read them."""


@dataclass(frozen=True, slots=True)
class Program:
    """Marks a setting that names a program to be started."""


def _checked_proxy(value: SecretStr | None) -> SecretStr | None:
    if value is not None:
        read_proxy(value.get_secret_value())
    return value


def split_list(value: object) -> object:
    """Split a text at its commas; leave other values as they are."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def split_lines(value: object) -> object:
    """Split a text into its lines, without those that are blank; leave other values as they are."""
    return [line.strip() for line in value.splitlines() if line.strip()] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Lines:
    """Marks a list whose values may hold commas: in a text each has a line."""


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_GIVEN = ("host", "cookie", "connection", "content-length", "transfer-encoding", "te", "upgrade")
_NOT_BEGUN = ("if-", "proxy-", "accept-enc")  # nor may a name begin so


def read_header(text: str) -> tuple[str, str]:
    """Return name and value of a header. Raises ValueError for what is none, or none that can be given."""
    name, colon, value = text.partition(":")
    low, value = name.lower(), value.strip(" \t")
    if not (colon and _TOKEN.fullmatch(name) and value.isascii() and (value.isprintable() or not value)):
        raise ValueError("not a header")
    if low in _NOT_GIVEN or low.startswith(_NOT_BEGUN):
        raise ValueError("not a header that can be given")
    return name, value


def _checked_headers(values: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    for value in values:
        read_header(value.get_secret_value())
    return values


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
DatabaseUrl = Annotated[
    str,
    NamesDatabase(),
    Allowed(
        "an SQLite file such as crawl.db, or a database URL such as sqlite:///scrawler.db,"
        " mysql://user:password@host/name or postgresql://user:password@host/name"
    ),
]
Headers = Annotated[
    tuple[SecretStr, ...],
    BeforeValidator(split_lines),
    AfterValidator(_checked_headers),
    Secret(),
    Lines(),
    Allowed("headers such as 'Accept-Language: de'; Authorization in the table of a host, no Cookie (see cookie_file)"),
]


_PASSWORD = re.compile(r"//[^/]*:[^/]*@")  # also one with characters that would end it in a URL


def checked_folder(value: str | None) -> str | None:
    """Refuse what is no URL of a folder, or a chain of them; a password in it would stand in lists and rows.

    Raises ValueError.
    """
    if value is None:
        return None
    parts = urlsplit(value)
    if not parts.scheme or not (parts.netloc or parts.path.strip("/")):
        raise ValueError("not the URL of a folder")
    if "::" in value or _PASSWORD.search(value):
        raise ValueError("it holds a password, or is a chain of URLs")
    if parts.scheme == "file" and parts.netloc:
        raise ValueError("not a file URL")
    return value


def _checked_patterns(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        url_pattern(value)
    return values


UrlPatternTexts = Annotated[
    tuple[str, ...],
    BeforeValidator(split_lines),
    AfterValidator(_checked_patterns),
    Lines(),
    Allowed("patterns such as https://example.org/docs/*, /print/* or re:[.]pdf$"),
]
UserName = Annotated[str | None, Allowed("a user without a colon, in the table of a host")]
Password = Annotated[SecretStr | None, Secret(), Allowed("a password, in the table of a host")]


def _checked_path(value: Path | None) -> Path | None:
    if value is not None and "\0" in str(value):
        raise ValueError("no path holds a NUL")
    return value


FileName = Annotated[Path | None, AfterValidator(_checked_path), Allowed("a file")]
FileOfHost = Annotated[Path | None, AfterValidator(_checked_path), Allowed("a file, in the table of a host")]
FolderName = Annotated[Path, AfterValidator(_checked_path)]
ProxyText = Annotated[
    SecretStr | None,
    AfterValidator(_checked_proxy),
    Secret(),
    Allowed("the URL of a proxy (http, https or socks5h), or direct"),
]


def _checked_shared_secret(value: SecretStr | None) -> SecretStr | None:
    if value is not None and len(value.get_secret_value().encode()) < SHARED_SECRET_LENGTH:
        raise ValueError("too short")
    return value


def _checked_webhooks(values: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    for value in values:
        text = value.get_secret_value()
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or not (text.isascii() and text.isprintable()):
            raise ValueError("not the URL of a webhook")
        if " " in text or "@" in parts.netloc or parts.fragment or parts.port == 0:  # a bad port raises by itself
            raise ValueError("a webhook has neither user nor fragment")
    return values


SHARED_SECRET_LENGTH = 16  # bytes
SharedSecret = Annotated[
    SecretStr | None,
    AfterValidator(_checked_shared_secret),
    Secret(),
    Allowed("a text of 16 bytes at least"),
]
RemoteFolder = Annotated[
    str | None,
    AfterValidator(checked_folder),
    Allowed("the URL of a folder such as s3://bucket/folder or file:///folder; keys stand in the environment"),
]
Webhooks = Annotated[
    tuple[SecretStr, ...],
    BeforeValidator(split_lines),
    AfterValidator(_checked_webhooks),
    Secret(),
    Lines(),
    Allowed("http or https URLs such as https://example.org/changes, without user and password"),
]
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
