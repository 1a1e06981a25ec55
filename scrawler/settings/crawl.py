"""The settings of a crawl; what parts it is made of is chosen in `parts`."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from scrawler import __version__
from scrawler.model.scope import Boundary, Scope
from scrawler.settings.kinds import (
    DAY,
    GIB,
    KIB,
    MIB,
    Bytes,
    CrawlName,
    DatabaseUrl,
    HeaderText,
    HostAddresses,
    Live,
    MediaTypes,
    Networks,
    NormaliseSteps,
    OptionalBytes,
    OptionalSeconds,
    Relations,
    Seconds,
    TokenText,
)

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/(?:\*|[A-Za-z0-9!#$&^_.+-]+)|\*/\*")


class CrawlSettings(BaseModel):
    """Every setting of a crawl on one host but its parts; times in seconds, sizes in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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

    delay: Annotated[Seconds, Live()] = Field(1.0, ge=0, le=DAY, description="Pause between two requests to a site.")
    per_site: Annotated[int, Live()] = Field(1, ge=1, le=100, description="Requests in flight to a site at a time.")
    per_ip: Annotated[int, Live()] = Field(
        8, ge=1, le=1000, description="Requests in flight to an IP address at a time, those of all its sites together."
    )
    delay_per_ip: Annotated[Seconds, Live()] = Field(
        0.0,
        ge=0,
        le=DAY,
        description="Pause between two requests to an IP address, all its sites together; then they go one at a time.",
    )
    delay_factor: Annotated[float, Live()] = Field(
        2.0, ge=0, le=100, description="Pause at least so many times the site's last response time; not with delay 0."
    )
    delay_cap: Annotated[Seconds, Live()] = Field(
        30.0, ge=0, le=DAY, description="Longest pause that a slow answer brings about."
    )
    max_crawl_delay: Annotated[Seconds, Live()] = Field(
        60.0, ge=0, le=DAY, description="Longest Crawl-delay that is kept; a site that asks for more is not crawled."
    )
    max_retry_after: Annotated[Seconds, Live()] = Field(
        3600.0, ge=0, le=DAY, description="Longest pause that a site can ask for with Retry-After."
    )
    max_pushbacks: Annotated[int, Live()] = Field(
        5, ge=1, le=1000, description="End a seed after so many answers of 429 or 503 in a row."
    )
    max_failures: Annotated[int, Live()] = Field(
        10, ge=1, le=1000, description="End a seed after so many failed connections in a row."
    )
    outage_patience: Annotated[Seconds, Live()] = Field(
        3600.0,
        ge=0,
        le=DAY,
        description="Longest rest of a machine whose own network is down: no host answers any more; 0: none.",
    )
    robots: bool = Field(True, description="Obey robots.txt.")
    obey_meta: bool = Field(True, description="Obey robots meta elements and X-Robots-Tag headers.")
    nofollow: Relations = Field((), description="Links that are not followed, by what their rel says.")
    product_token: TokenText = Field(
        None,
        description="Name by which robots.txt addresses this crawler; none: the user agent up to a slash or space.",
    )
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
    patience: Annotated[Seconds, Live()] = Field(
        3.0,
        ge=0,
        le=DAY,
        description="Put a page off to the slow lane if its answer takes longer, unless nearly all do; 0: never.",
    )
    slow_timeout: Annotated[Seconds, Live()] = Field(
        100.0, ge=0.1, le=DAY, description="Longest time of one download in the slow lane."
    )
    slow_delay: Annotated[Seconds, Live()] = Field(
        3.0, ge=0, le=DAY, description="Pause between two requests of the slow lane to a site."
    )
    slow_per_site: Annotated[int, Live()] = Field(
        1, ge=1, le=100, description="Requests of the slow lane in flight to a site at a time."
    )
    slow_pass: Literal["party", "crawl"] = Field(
        "party", description="Fetch the slow lane at the end of its party, or after all other pages of the crawl."
    )
    max_body: Bytes = Field(
        32 * MIB, ge=KIB, le=2 * GIB, description="Largest body that is downloaded, as transferred."
    )
    max_decoded: Bytes = Field(
        64 * MIB, ge=KIB, le=4 * GIB, description="Largest body that is read for links, once decoded."
    )
    max_ratio: int = Field(
        1000, ge=2, le=100_000, description="Largest ratio of a decoded body to the one that was transferred."
    )
    max_headers: Bytes = Field(128 * KIB, ge=KIB, le=256 * KIB, description="Largest head of an answer.")
    page_time: Seconds = Field(
        60.0, ge=1, le=DAY, description="CPU time that reading one page may take; else the machine ends, and the page."
    )
    accept: MediaTypes = Field((), description="Media types that are downloaded, decided at the headers; none: all.")
    assets: bool = Field(False, description="Fetch the images, scripts and styles of pages as well.")
    cookies: bool = Field(True, description="Keep cookies, in a jar for each party.")
    max_url_length: int = Field(2048, ge=64, le=16_000, description="Longest URL imported or crawled, in bytes.")
    max_segments: int = Field(30, ge=1, le=1000, description="Most segments in the path of a URL.")
    max_repeats: int = Field(
        3, ge=1, le=100, description="Most times in a row that a segment, or a row of segments, may stand in a path."
    )
    max_parameters: int = Field(20, ge=0, le=1000, description="Most parameters in the query of a URL.")
    normalise: NormaliseSteps = Field(
        ("percent-case", "empty-query", "session-ids", "tracking"),
        description="Steps by which URLs are made equal, beyond the WHATWG standard.",
    )
    sitemaps: Literal["off", "seed", "also"] = Field(
        "off", description="Read sitemaps: none, seeds that are sitemaps, or also those that robots.txt names."
    )
    traps: bool = Field(True, description="Watch what each pattern of URLs yields; cap those that bring nothing new.")
    trap_pages: int = Field(
        50, ge=5, le=10_000, description="Pages of a pattern that are fetched before it can be capped."
    )
    trap_yield: float = Field(
        0.1, ge=0, le=1, description="Share of new content among a pattern's last pages below which it is capped."
    )
    near_duplicates: Literal["off", "doubt", "all"] = Field(
        "doubt", description="Compare the text of no page, of those whose pattern is in doubt, or of all."
    )
    insecure: bool = Field(False, description="Do not check the certificates of https sites.")
    allow_private: bool = Field(False, description="Crawl loopback, private and reserved addresses as well.")
    allow_addresses: Networks = Field(
        (),
        description="Private addresses or networks that are crawled nevertheless; metadata addresses only one by one.",
    )
    resolve: HostAddresses = Field(
        (), description="Addresses of hosts that the name service need not be asked for, as host=address."
    )

    scope: Scope = Field(
        Scope.HOST, description="What belongs to a party: the seed's host, registrable domain, or URL prefix."
    )
    boundary: Annotated[Boundary, Live()] = Field(
        Boundary.ANY,
        description="What may enter the crawl by promotion or redirect: any URL, or the domains or hosts of the seeds.",
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

    seen_memory: Bytes = Field(256 * MIB, ge=MIB, description="Memory of all seen filters of this machine.")
    depth_buffer: int = Field(
        1024,
        ge=128,
        le=1_000_000,
        description="URLs of a list that are kept in memory to be asked for next; the rest is in the database.",
    )

    checkpoint_interval: Annotated[Seconds, Live()] = Field(
        15.0, ge=0.1, le=600, description="Longest time before what was fetched is committed; 2 s where little is done."
    )
    checkpoint_pages: Annotated[int, Live()] = Field(
        2_000, ge=1, le=100_000, description="Pages of a seed after which they are committed early."
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
    outlinks: bool = Field(False, description="Keep the links of each page in a WARC record beside its answer.")
    warc_size: Bytes = Field(10**9, ge=MIB, description="Size at which a WARC file is full.")

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

    @field_validator("allow_addresses")
    @classmethod
    def _check_networks(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            ipaddress.ip_network(entry)
        return entries

    @field_validator("accept")
    @classmethod
    def _check_media_types(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_MEDIA_TYPE.fullmatch(entry) for entry in entries):
            raise ValueError("not a media type")
        return tuple(entry.lower() for entry in entries)

    @field_validator("product_token")
    @classmethod
    def _check_token(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_-]+", value):
            raise ValueError("not a product token")
        return value
