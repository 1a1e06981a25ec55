"""An independent breadth-first walk of a site: urllib and lxml, one request at a time, URLs resolved by hand.

It shares with SCrawler what the task is, and no code that does it: which elements are links, that http and https
URLs of the same authority are internal, that fragments are dropped, that a redirect is a link, and the table of
file types that are not asked for.
"""

from __future__ import annotations

import multiprocessing
import re
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from email.message import Message
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote, urlsplit

from lxml import etree

from scrawler.urls.filetype import NOT_DOCUMENTS

AGENT = "docsweb-walk"
MAX_DEPTH = 15
MAX_URL_LENGTH = 2048
# Relations of <link> that lead to a document rather than to a part of the page, if its type is HTML.
_DOCUMENT_RELATIONS = """
    alternate appendix author begin canonical chapter contents copyright end first glossary help home index last
    license next prev previous related search section start subsection toc top up
"""
_HTML_TYPES = ("", "text/html", "application/xhtml+xml")
_LINK_ELEMENTS = ("a", "area", "link", "iframe", "frame", "meta")
_TIMEOUT = 30.0
_TAB_OR_LINE_END = re.compile(r"[\t\n\r]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_EDGE = "".join(map(chr, range(0x21)))  # what the URL standard strips at both ends
_REFRESH_URL = re.compile(r"^[\s\d.]*[\s;,]+(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(.*))", re.IGNORECASE | re.DOTALL)
# What the URL standard leaves as it is in a path and in a query; "%" because what is encoded stays encoded.
_PATH_SAFE = "!$%&'()*+,-./:;=@[\\]_|~"
_QUERY_SAFE = "!$%&()*+,-./:;=?@[\\]^_`{|}~"


class Visit(NamedTuple):
    """A URL that was asked for, and its answer."""

    url: str
    status: int
    content_type: str  # without parameters
    depth: int


class _Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Give redirects back as answers: each hop is a URL of its own."""


def walk_site(home: str, max_depth: int = MAX_DEPTH) -> list[Visit]:
    """Ask for every URL of the home page's host that links lead to, level by level."""
    ask = _asker()
    authority = urlsplit(home).netloc
    listed = {home}
    waiting = deque([(home, 0)])
    visits = []
    while waiting:
        url, depth = waiting.popleft()
        answer = ask(url)
        content_type = answer.headers.get_content_type() if "content-type" in answer.headers else ""
        visits.append(Visit(url, answer.status, content_type, depth))
        if depth == max_depth:
            continue
        for target in _targets(url, answer, content_type):
            if target not in listed and is_wanted(target, authority):
                listed.add(target)
                waiting.append((target, depth + 1))
    return visits


def walk_sites(homes: Sequence[str], max_depth: int = MAX_DEPTH) -> Iterator[tuple[str, list[Visit]]]:
    """Walk several sites, as many at a time as there are processors; yields each as soon as it is done."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        walks = {pool.submit(walk_site, home, max_depth): home for home in homes}
        for walk in as_completed(walks):
            yield walks[walk], walk.result()


def write_visits(path: Path, visits: Iterable[Visit]) -> None:
    """Write visits, sorted by URL: url, status, content type and depth, with tabs between."""
    path.write_text("".join("\t".join(map(str, visit)) + "\n" for visit in sorted(visits)))


def read_visits(path: Path) -> list[Visit]:
    """Read what `write_visits` wrote."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return [Visit(url, int(status), content_type, int(depth)) for url, status, content_type, depth in rows]


def is_wanted(url: str, authority: str) -> bool:
    """Whether an http URL is internal, not too long and not of a refused file type."""
    parts = urlsplit(url)
    segment = parts.path.rpartition("/")[2].lower()
    extension = segment.rpartition(".")[2] if "." in segment else ""
    refused = extension in NOT_DOCUMENTS and ":" not in segment and "%3a" not in segment
    return (
        parts.scheme in ("http", "https") and parts.netloc == authority and len(url) <= MAX_URL_LENGTH and not refused
    )


def resolve(base: str, href: str) -> str | None:
    """Resolve an href against an http URL by the URL standard, fragment dropped; None: not http, or no URL.

    By hand, because `urljoin` follows RFC 3986 and folds empty segments: "a//b" becomes "a/b" with it.
    """
    text = _TAB_OR_LINE_END.sub("", href.strip(_EDGE)).partition("#")[0]
    path, mark, query = text.partition("?")
    path = path.replace("\\", "/")
    home = urlsplit(base)
    scheme, authority = home.scheme, home.netloc
    if match := _SCHEME.match(path):
        given, path = match[1].lower(), match[2]
        if given not in _DEFAULT_PORTS:
            return None
        if given != scheme or path.startswith("//"):
            path = "//" + path.lstrip("/")
        scheme = given
    if path.startswith("//"):
        authority, slash, path = path.lstrip("/").partition("/")
        path = slash + path
    elif not path:
        path = home.path
        if not mark:
            _, mark, query = base.partition("?")
    elif not path.startswith("/"):
        path = home.path.rpartition("/")[0] + "/" + path
    place = _authority(authority, scheme)
    path = quote(_without_dots(path), safe=_PATH_SAFE)
    return f"{scheme}://{place}{path}{mark}{quote(query, safe=_QUERY_SAFE)}" if place else None


def hrefs(body: bytes) -> tuple[str | None, list[str]]:
    """Return the <base href> of a page, if any, and its links in document order, as written."""
    parser = etree.HTMLParser(huge_tree=True)
    root = etree.fromstring(body, parser) if body.strip() else None
    if root is None:
        return None, []
    bases = root.xpath("//base/@href")
    found = [href for element in root.iter(*_LINK_ELEMENTS) if (href := _link(element)) is not None]
    return (str(bases[0]) if bases else None), found


def _link(element: etree._Element) -> str | None:
    match element.tag:
        case "a" | "area":
            return element.get("href")
        case "iframe" | "frame":
            return element.get("src")
        case "link":
            relations = set((element.get("rel") or "").lower().split())
            leads = not relations.isdisjoint(_DOCUMENT_RELATIONS.split()) and "stylesheet" not in relations
            media_type = (element.get("type") or "").partition(";")[0].strip().lower()
            return element.get("href") if leads and media_type in _HTML_TYPES else None
    return _refresh(element)


def _refresh(element: etree._Element) -> str | None:
    if (element.get("http-equiv") or "").strip().lower() != "refresh":
        return None
    match = _REFRESH_URL.match(element.get("content") or "")
    return next((group for group in match.groups() if group), None) if match else None


def _targets(url: str, answer: _Answer, content_type: str) -> Iterator[str]:
    if 300 <= answer.status < 400:
        base, found = None, [answer.headers.get("location", "")]
    elif answer.status == 200 and content_type == "text/html":
        base, found = hrefs(answer.body)
    else:
        return
    start = (resolve(url, base) if base is not None else None) or url
    for href in dict.fromkeys(found):
        if target := resolve(start, href):
            yield target


def _authority(text: str, scheme: str) -> str:
    """Return host[:port] without userinfo and the scheme's own port; empty for a bad one."""
    host, _, port = text.rpartition("@")[2].lower().partition(":")
    if port and not port.isdecimal():
        return ""
    if not host or not port or int(port) == _DEFAULT_PORTS[scheme]:
        return host
    return f"{host}:{int(port)}"


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:] or [""]
    for segment in segments:
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            kept = kept[:-1]
        elif plain != ".":
            kept.append(segment)
    if segments[-1].lower().replace("%2e", ".") in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _asker() -> Callable[[str], _Answer]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    opener.addheaders = [("User-Agent", AGENT)]

    def ask(url: str) -> _Answer:
        try:
            with opener.open(url, timeout=_TIMEOUT) as response:
                return _Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as answer:
            with answer:
                return _Answer(answer.code, answer.headers, answer.read())

    return ask
