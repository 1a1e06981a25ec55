"""The link extractor interface: bytes of a page in, hrefs out, in document order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from scrawler.extract.simhash import Fingerprint

DEEP_HTML: Final = "deep-html"  # the note of a page that would have cost a parser too much, and was scanned instead
REFRESH_HEADER = "R Refresh:"  # where a link stands that is in a header
SCRIPTED = "L =SCRIPT_MISC"  # where a script wanted to lead the browser
PARSER_FAILED = "parser-failed"  # the note of a page that the parser failed at, and was scanned instead


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """What an extractor is to look for, and what of it is not to be followed."""

    robots: frozenset[str] = frozenset({"robots"})  # names of the meta elements that address us, lower case
    nofollow: frozenset[str] = frozenset()  # relations of links that are not followed, lower case
    assets: bool = False  # whether images, scripts and styles are wanted
    outlinks: bool = False  # whether it is to be told where each URL stands, those of assets among them

    @property
    def sees_assets(self) -> bool:
        """Whether images, scripts and styles are looked for at all."""
        return self.assets or self.outlinks


class LinkSources(NamedTuple):
    """Where the URLs of a page stand, each as kind and context, such as "L a/@href", in the words of Heritrix."""

    of_hrefs: list[str]  # where each of `hrefs` stands
    others: list[tuple[str, str]]  # URLs that are not in `hrefs`, as those of assets, each with where it stands


class LinkMark(NamedTuple):
    """What a page says of a link beside where it leads; empty where it says nothing."""

    rel: str = ""  # in lower case, words separated by a space
    anchor: str = ""  # the link's text, else that of its pictures; at most 500 characters


@dataclass(slots=True)
class PageLinks:
    """Links of one page, as written (character references decoded, surrounding white space stripped).

    `base` is the page's URL, or what its first <base href> makes of it. `hrefs` holds every link that may be followed,
    repeated ones repeated, empty ones of <a> and <area> too. `charset` is the WHATWG name of the encoding the page was
    read in. `note` says what went wrong on the way ("deep-html", "parser-failed", "decode-error", "decoded-too-large",
    "decode-ratio"), or is empty. `robots` holds the contents of the robots meta elements that address us.
    `page` holds what was read, in UTF-8, for whoever wants to know what the page says. It is not frozen, which would
    cost 0.7 us of each page, nor is what makes it a dataclass's own, which mypyc does not compile.
    """

    base: str
    hrefs: Sequence[str]
    charset: str
    note: str
    robots: list[str]
    canonicals: list[str]  # hrefs of <link rel=canonical> in the head
    unfollowed: list[str]  # links that the policy leaves out for their rel
    assets: list[str]  # distinct URLs of images, scripts and styles, if they are wanted
    page: bytes = field(compare=False, repr=False)
    is_xml: bool  # whether the page was read as XML
    fingerprint: Fingerprint | None
    sources: LinkSources | None  # where the links stand, if that is wanted
    marks: Mapping[str, LinkMark] | None  # what is said of links, by their URLs, if that is wanted
    refresh: str  # where its meta refresh leads without a pause, empty if it has none: one of `hrefs`

    def __init__(
        self,
        base: str,
        hrefs: Sequence[str],
        charset: str = "",
        note: str = "",
        robots: list[str] | None = None,
        canonicals: list[str] | None = None,
        unfollowed: list[str] | None = None,
        assets: list[str] | None = None,
        page: bytes = b"",
        is_xml: bool = False,
        fingerprint: Fingerprint | None = None,
        sources: LinkSources | None = None,
        marks: Mapping[str, LinkMark] | None = None,
        refresh: str = "",
    ) -> None:
        self.base = base
        self.hrefs = hrefs
        self.charset = charset
        self.note = note
        self.robots = [] if robots is None else robots
        self.canonicals = [] if canonicals is None else canonicals
        self.unfollowed = [] if unfollowed is None else unfollowed
        self.assets = [] if assets is None else assets
        self.page = page
        self.is_xml = is_xml
        self.fingerprint = fingerprint
        self.sources = sources
        self.marks = marks
        self.refresh = refresh

    @property
    def any(self) -> bool:
        """Whether the page holds any link or asset, to be followed or not."""
        return bool(self.hrefs or self.unfollowed or self.assets)


class LinkExtractor(Protocol):
    """Finds the links of HTML pages; malformed pages never raise. Keeps no state, so threads may share one.

    It is made with a LinkPolicy, or without one for the default.
    """

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        """Find the links of a decoded body; `content_type` is the raw header, for its charset."""
