"""All settings of SCrawler: one frozen object, checked once, each with its help text.

Values come from the defaults, scrawler.toml, SCRAWLER_* variables and flags, in rising precedence.
`load_settings` reads them; `Settings(...)` itself looks at nothing but its arguments.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from scrawler import __version__
from scrawler.errors import SettingsError
from scrawler.model import Scope
from scrawler.units import format_bytes, format_seconds, parse_bytes, parse_seconds

CONFIG_FILE = "scrawler.toml"
ENV_PREFIX = "SCRAWLER_"

_CLASSIC_PARTS = {"downloader": "requests", "extractor": "html5lib", "seen": "pybloom"}


class Kind(StrEnum):
    """How a value is written, where its type does not say so; the text stands for it in help."""

    SECONDS = "TIME"
    BYTES = "SIZE"


_NOUNS = {Kind.SECONDS: "a time such as 90, 5m or 2h", Kind.BYTES: "a size such as 500000, 32MiB or 1GB"}


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a text setting may hold, in words."""

    words: str


@dataclass(frozen=True, slots=True)
class Live:
    """Marks a setting that can be set while machines run."""


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Seconds = Annotated[float, BeforeValidator(parse_seconds), Kind.SECONDS]
OptionalSeconds = Annotated[float | None, BeforeValidator(parse_seconds), Kind.SECONDS]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Kind.BYTES]
OptionalBytes = Annotated[int | None, BeforeValidator(parse_bytes), Kind.BYTES]
CrawlName = Annotated[str, Allowed("1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit")]
DatabaseUrl = Annotated[str, Allowed("a database URL such as sqlite:///scrawler.db or mysql://user:password@host/name")]
HeaderText = Annotated[str, Allowed("printable ASCII characters, at most 500, not blank")]
HostAddresses = Annotated[
    tuple[str, ...], NoDecode, BeforeValidator(_split), Allowed("host=address entries such as a.example=127.0.0.2")
]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
DAY = 86_400


class Settings(BaseSettings):
    """Every setting of a crawl on one host; times in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=ENV_PREFIX, validate_default=False)

    db: DatabaseUrl = Field("sqlite:///scrawler.db", min_length=1, description="Database of the crawl.")
    name: CrawlName = Field(
        "crawl", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Name of the crawl, and of its output file."
    )

    machines: int = Field(1, ge=1, le=1000, description="Machine processes to run on this host.")
    threads: Annotated[int, Live()] = Field(
        20, ge=1, le=1000, description="Crawling threads (URL Collectors) of a machine."
    )
    seeds_per_thread: int = Field(10, ge=1, le=10_000, description="Seeds that one thread works on at a time.")
    dns_threads: int = Field(32, ge=1, le=1000, description="Threads that look up names ahead of the crawl.")
    distribution: Literal["distributor", "free"] = Field(
        "distributor",
        description="How threads get seeds: dealt out and levelled by the distributor, or by free competition.",
    )

    delay: Annotated[Seconds, Live()] = Field(1.0, ge=0, le=DAY, description="Pause between two requests to a site.")
    per_site: Annotated[int, Live()] = Field(1, ge=1, le=100, description="Requests in flight to a site at a time.")
    robots: bool = Field(True, description="Obey robots.txt.")
    user_agent: HeaderText = Field(
        f"SCrawler/{__version__}",
        description="User agent sent with each request; it should hold a URL or mail address for the sites' owners.",
    )

    connect_timeout: Seconds = Field(10.0, ge=0.1, le=3600, description="Longest wait for a connection.")
    timeout: Seconds = Field(60.0, ge=0.1, le=DAY, description="Longest time of one download.")
    retries: Annotated[int, Live()] = Field(
        2, ge=0, le=20, description="Further attempts at a URL that failed for now."
    )
    retry_pause: Annotated[Seconds, Live()] = Field(
        10.0, ge=0, le=DAY, description="Pause before the first retry; doubles with each one."
    )
    max_body: Bytes = Field(
        32 * MIB, ge=KIB, le=2 * GIB, description="Largest body that is downloaded, as transferred."
    )
    max_decoded: Bytes = Field(
        64 * MIB, ge=KIB, le=4 * GIB, description="Largest body that is read for links, once decoded."
    )
    max_url_length: int = Field(2048, ge=64, le=16_000, description="Longest URL imported or crawled, in characters.")
    tls_verify: bool = Field(True, description="Check the certificates of https sites.")
    allow_private: bool = Field(False, description="Crawl loopback, private and reserved addresses as well.")
    resolve: HostAddresses = Field(
        (), description="Addresses of hosts that the name service need not be asked for, as host=address."
    )

    scope: Scope = Field(
        Scope.HOST, description="What belongs to a party: the seed's host, registrable domain, or URL prefix."
    )
    hops: Annotated[int, Live()] = Field(
        0, ge=0, le=100, description="Crawl the candidate seeds found up to this many sites away."
    )
    max_depth: Annotated[int, Live()] = Field(
        15, ge=0, le=65_535, description="Follow links to this depth from a seed."
    )
    max_pages: Annotated[int | None, Live()] = Field(None, ge=1, description="End a seed after this many pages.")
    max_bytes: Annotated[OptionalBytes, Live()] = Field(
        None, ge=1, description="End a seed after this much body data, as transferred."
    )
    max_time: Annotated[OptionalSeconds, Live()] = Field(
        None, ge=0.1, le=366 * DAY, description="End a seed after this time in work."
    )

    profile: Literal["default", "classic"] = Field(
        "default", description="Set of parts: the fast ones, or requests, html5lib and pybloom."
    )
    downloader: Literal["curl", "requests"] = Field("curl", description="Part that downloads pages.")
    extractor: Literal["lexbor", "html5lib"] = Field("lexbor", description="Part that finds the links of a page.")
    seen: Literal["rbloom", "pybloom", "exact"] = Field(
        "rbloom", description="Part that knows which URLs a party has seen."
    )
    seen_memory: Bytes = Field(256 * MIB, ge=MIB, description="Memory of all seen filters of this machine.")

    checkpoint_interval: Annotated[Seconds, Live()] = Field(
        5.0, ge=0.1, le=600, description="Time between two checkpoints."
    )
    checkpoint_pages: Annotated[int, Live()] = Field(
        500, ge=1, le=100_000, description="Pages after which a checkpoint is made early."
    )
    stop_timeout: Seconds = Field(
        30.0, ge=0, le=3600, description="Longest time for what is in flight when the crawl is stopped."
    )
    database_patience: Seconds = Field(
        600.0, ge=1, le=7 * DAY, description="Longest wait for a database that is locked or away."
    )
    fsync: bool = Field(False, description="Wait until data is on disk, for power loss; slower.")

    input_dir: Path = Field(Path("input_urls"), description="Folder where seed files are looked up by bare name.")
    output_dir: Path = Field(Path("output_urls"), description="Folder of exported URL files.")
    pages_dir: Path = Field(Path("pages"), description="Folder of the WARC files.")
    warc_size: Bytes = Field(10**9, ge=MIB, description="Size at which a WARC file is full.")

    @model_validator(mode="before")
    @classmethod
    def _apply_profile(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("profile") == "classic":
            return _CLASSIC_PARTS | values
        return values

    @field_validator("user_agent")
    @classmethod
    def _check_user_agent(cls, value: str) -> str:
        if not (value.strip() and value.isascii() and value.isprintable() and len(value) <= 500):
            raise ValueError("not a header value")
        return value

    @field_validator("resolve")
    @classmethod
    def _check_resolve(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            host, _, address = entry.partition("=")
            if not host or host != host.strip():
                raise ValueError("no host")
            ipaddress.ip_address(address)
        return entries

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave reading of files and variables to `load_settings`, which remembers where a value came from."""
        return (init_settings,)


def load_settings(flags: Mapping[str, object], config: Path | None = None) -> Settings:
    """Merge scrawler.toml (or `config`), SCRAWLER_* variables and `flags` (None: not given), and check the result.

    Raises SettingsError with one line that names source, key, value and what is allowed.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, value in _from_toml(config).items():
        values[key], origins[key] = value, f"{config or CONFIG_FILE}: {key} = {value!r}"
    for key, value in _from_environment().items():
        values[key], origins[key] = value, f"{ENV_PREFIX}{key.upper()}={_shown(value)}"
    for key, value in flags.items():
        if value is not None:
            values[key], origins[key] = value, f"{flag_name(key)} {_shown(value)}"
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        keys = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors(include_url=False))
        lines = [f"{origins[key]} is not allowed, only {allowed_values(key)}" for key in keys]
        raise SettingsError("; ".join(lines)) from error


def live_settings() -> tuple[str, ...]:
    """Return the settings that can be set while machines run."""
    return tuple(key for key, info in Settings.model_fields.items() if Live() in info.metadata)


def parse_setting(key: str, text: str) -> Any:
    """Return the value of a live setting, written as in a flag; None for an empty text, which takes it back.

    Raises SettingsError with one line: unknown, not to be set while machines run, or out of range.
    """
    if key not in Settings.model_fields:
        raise SettingsError(f"unknown setting {key!r}{_hint(key, Settings.model_fields)}")
    if key not in live_settings():
        raise SettingsError(f"{key} needs a restart: only {', '.join(live_settings())} can be set while machines run")
    if not text:
        return None
    try:
        return getattr(Settings.model_validate({key: text}), key)
    except ValidationError as error:
        raise SettingsError(f"{key}={_shown(text)} is not allowed, only {allowed_values(key)}") from error


def setting_field(key: str) -> FieldInfo:
    """Return the declaration of a setting: type, default, bounds, description."""
    return Settings.model_fields[key]


def flag_name(key: str) -> str:
    """Return the command line flag of a setting."""
    return "--" + key.replace("_", "-")


def allowed_values(key: str) -> str:
    """Say in words what a setting may hold."""
    info = setting_field(key)
    words = [mark.words for mark in info.metadata if isinstance(mark, Allowed)]
    if words:
        return words[0]
    if info.annotation is bool:
        return "true or false"
    if info.annotation is Path:
        return "a folder"
    if choices := setting_choices(key):
        return "one of " + ", ".join(choices)
    kind = setting_kind(key)
    noun = _NOUNS[kind] if kind else "a whole number"
    bounds = setting_range(key)
    return f"{noun}, {bounds}" if bounds else noun


def setting_kind(key: str) -> Kind | None:
    """Return whether a setting is a time or a size, or neither."""
    return next((mark for mark in setting_field(key).metadata if isinstance(mark, Kind)), None)


def setting_choices(key: str) -> tuple[str, ...]:
    """Return the values of a setting that has only a few; empty for the others."""
    annotation = setting_field(key).annotation
    if annotation is Scope:
        return tuple(scope.value for scope in Scope)
    choices = get_args(annotation)
    return choices if choices and all(isinstance(choice, str) for choice in choices) else ()


def setting_range(key: str) -> str:
    """Write the bounds of a setting, "1 to 1000" or "at least 1"; empty if it has none."""
    metadata = setting_field(key).metadata
    low = next((setting_text(key, mark.ge) for mark in metadata if isinstance(mark, Ge)), None)
    high = next((setting_text(key, mark.le) for mark in metadata if isinstance(mark, Le)), None)
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else ""


def setting_text(key: str, value: object) -> str:
    """Write a value of a setting as a user would: 33554432 of max_body -> "32MiB"."""
    kind = setting_kind(key)
    if kind is Kind.BYTES and isinstance(value, int):
        return format_bytes(value)
    if kind is Kind.SECONDS and isinstance(value, int | float):
        return format_seconds(value)
    return str(value)


def _from_toml(config: Path | None) -> dict[str, Any]:
    path = config or Path(CONFIG_FILE)
    if config is not None and not config.is_file():
        raise SettingsError(f"{config}: no such file (given with --config)")
    try:
        values = TomlConfigSettingsSource(Settings, toml_file=path)()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: not readable as TOML: {error}") from error
    for key in values:
        if key not in Settings.model_fields:
            raise SettingsError(f"{path}: unknown key {key!r}{_hint(key, Settings.model_fields)}")
    return values


def _from_environment() -> dict[str, Any]:
    known = {ENV_PREFIX + key.upper() for key in Settings.model_fields}
    for variable in os.environ:
        if variable.startswith(ENV_PREFIX) and variable not in known:
            raise SettingsError(f"unknown variable {variable}{_hint(variable, known)}")
    return EnvSettingsSource(Settings, case_sensitive=False)()


def _hint(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else "; the README lists all settings"


def _shown(value: object) -> str:
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text if text and text.isprintable() else repr(text)
