"""Text to normalised URL by the WHATWG URL standard (https://url.spec.whatwg.org/), or the reason why not.

Case of scheme and host, default ports, dot segments and percent-encoding are as the standard leaves them; on top
of it the fragment goes, and so does userinfo: credentials that stand in somebody's link are not ours to send,
and the page is the same without them. In a seed they are refused, because there a person expects them to be used.
A normalised URL is ASCII, so its length in characters is its length in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from ada_url import join_url, normalize_url

from scrawler.urls.ports import is_refused_port
from scrawler.urls.punycode import PREFIX, has_bad_label
from scrawler.urls.verdict import Verdict

MAX_URL_LENGTH = 2048  # bytes of a URL that is crawled, by default
HTTP_SCHEMES: Final = ("http://", "https://")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# A scheme and the slashes after it; the lookahead leaves out host:8080/path.
_SCHEME_PART = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d+(?:[/?#\\]|$))[/\\]*")
_AUTHORITY_END = re.compile(r"[/?#\\]")
# Segments that nothing is done to: none begins with a dot. Each character fits one place of the pattern alone: a text
# that does not match in the end is gone through twice, not more often. Paths of more segments are not called plain.
_PLAIN_SEGMENTS = r"(?:[\w~-][\w.~-]*/){0,100}(?:[\w~-][\w.~-]*)?"
_plain_path: Final = re.compile(rf"(?:\./)?((?:\.\./){{0,100}}){_PLAIN_SEGMENTS}", re.ASCII).fullmatch
is_plain_name: Final = re.compile(r"[\w~-][\w.~-]*|", re.ASCII).fullmatch  # it takes one such segment, or an empty text
# A URL in which the standard finds nothing to do: a name that is no address and has no punycode to be checked, no port.
is_plain_url: Final = re.compile(
    rf"https?://(?:(?!xn--)[a-z0-9-]+\.){{1,100}}[a-z]+/{_PLAIN_SEGMENTS}(?:\?[\w.~=&;%+/:,*!@$()-]*)?", re.ASCII
).fullmatch
_SHOWN = 40  # characters of a bad part that a message quotes


class Normalised(NamedTuple):
    """A normalised URL, or an empty `url` and the reason."""

    url: str
    reason: Verdict | None = None


class SeedUrl(NamedTuple):
    """A seed's normalised URL, or an empty `url` and what is wrong, in words for people."""

    url: str
    problem: str = ""


_SYNTAX: Final = Normalised("", Verdict.SYNTAX)
_SCHEME: Final = Normalised("", Verdict.SCHEME)
_PORT: Final = Normalised("", Verdict.PORT)
_LENGTH: Final = Normalised("", Verdict.LENGTH)


def normalise(text: str, base: str | None = None, max_length: int = MAX_URL_LENGTH) -> Normalised:
    """Resolve `text` against `base`, drop fragment and userinfo, and judge syntax, scheme, port and length.

    Never raises. Text that is longer than `max_length` before it is parsed, fragment apart, is refused unparsed.
    """
    if len(text) > max_length:
        head, sharp, _ = text.partition("#")
        if len(head) > max_length:
            return _judge_long(head[:max_length], base)
        text = head + sharp  # with its "#": without that a space before it would be trimmed, not encoded
    elif is_plain_url(text):
        return Normalised(text)
    try:
        url = normalize_url(text) if base is None else join_url(base, text)
    except ValueError:
        return _SYNTAX
    if not url.startswith(HTTP_SCHEMES):
        return _SCHEME
    if PREFIX in url and has_bad_label(url):
        return _SYNTAX
    if "#" in url:
        url = url[: url.index("#")]
    if "@" in url:
        url = _without_userinfo(url)
    if ":" in url[6:] and is_refused_port(url[url.index("//") + 2 : url.index("/", 8)]):  # not the scheme's colon
        return _PORT
    return Normalised(url) if len(url) <= max_length else _LENGTH


def resolve_plain(path: str, folder: str, root: str) -> str:
    """Resolve an href of letters, digits and `_ ~ - . /` in a third of the time of `normalise`; "" for any other.

    `folder` is the page's normalised URL up to its last slash, `root` that of its origin (`http://example.org/`).
    """
    if "?" in path:
        return ""  # this is faster than the pattern, which would be tried twice
    match = _plain_path(path)
    if match is None:
        if not path.startswith(("/", root)):
            return ""
        path, folder = path[1 if path[0] == "/" else len(root) :], root
        match = _plain_path(path)
        if match is None:
            return ""
    up, end = match.span(1)
    while up < end:
        up += len("../")
        if folder != root:
            folder = folder[: folder.rindex("/", 0, -1) + 1]
    return folder + path[end:]


def _judge_long(start: str, base: str | None) -> Normalised:
    """Tell a long `data:` or `javascript:` URL from one that is merely too long."""
    try:
        url = normalize_url(start) if base is None else join_url(base, start)
    except ValueError:
        return _LENGTH
    return _LENGTH if url.startswith(HTTP_SCHEMES) else _SCHEME


def _without_userinfo(url: str) -> str:
    start = url.index("//") + 2
    at = url.find("@", start, url.index("/", start))  # the standard percent-encodes all further ones
    return url if at < 0 else url[:start] + url[at + 1 :]


def seed_url(text: str, max_length: int = MAX_URL_LENGTH, steps: Callable[[str], str] | None = None) -> SeedUrl:
    """Read one line of a seed file: `example.com/path` means `http://example.com/path`.

    `steps` is what `make_steps` made; links are spelt by the same.
    Stricter than `normalise`, because a mistake in a seed should be seen: control characters, userinfo, and a bare
    word without a dot (other than localhost) are problems. Never raises.
    """
    url, problem = _read_seed(text, max_length)
    return SeedUrl(steps(url) if steps and url else url, problem)


def _read_seed(text: str, max_length: int) -> SeedUrl:
    text = text.removeprefix("\ufeff").strip()
    if not text:
        return SeedUrl("", "the line is empty")
    if len(text) > max_length:
        return SeedUrl("", f"longer than {max_length} bytes")
    if control := _CONTROL.search(text):
        return SeedUrl("", f"control character U+{ord(control.group()):04X}")
    if _SURROGATE.search(text):
        return SeedUrl("", "not UTF-8 text")
    scheme = _SCHEME_PART.match(text)
    if scheme is None:
        text = text.removeprefix("//")
        return _check_seed(f"http://{text}", text, bare=True, max_length=max_length)
    if scheme[1].lower() not in ("http", "https"):
        return SeedUrl("", f"scheme {scheme[1][:_SHOWN]!r} is neither http nor https")
    return _check_seed(text, text[scheme.end() :], bare=False, max_length=max_length)


def _check_seed(text: str, rest: str, *, bare: bool, max_length: int) -> SeedUrl:
    """Normalise a seed with its scheme; `rest` is what follows the scheme, as written."""
    host = _AUTHORITY_END.split(rest, maxsplit=1)[0]
    if not host:
        return SeedUrl("", "no host")
    if "@" in host:
        return SeedUrl("", "user name or password in the URL: they are never sent, take them out")
    if bare and "." not in host and host[0] != "[" and host.partition(":")[0].lower() != "localhost":
        return SeedUrl("", f"no URL: {host[:_SHOWN]!r} has no dot; a host of one word needs http:// before it")
    url, reason = normalise(text, max_length=max_length)
    if reason is Verdict.LENGTH:
        return SeedUrl("", f"longer than {max_length} bytes when percent-encoded")
    if reason is Verdict.PORT:
        return SeedUrl("", f"a port that is never asked, for it is another service's: {host[-_SHOWN:]!r}")
    if reason is not None:
        return SeedUrl("", f"no valid host or port: {host[:_SHOWN]!r}")
    return SeedUrl(url)
