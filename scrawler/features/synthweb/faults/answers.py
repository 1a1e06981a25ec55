"""Faults of single answers, in HTTP; what can be read at /<name> leads to /reached/<name>."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import lru_cache

from scrawler.features.synthweb.faults.visit import Fault, Visit, page, reply, says, whole

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_GZIP = "Content-Encoding: gzip"
_MIB = 1 << 20
_MORE = (b"<p>" + b"more " * 200 + b"</p>\n") * 16  # of a page without end: text, which is read quickly


def _reaching(name: str) -> str:
    return page(name, f"/reached/{name}")


def _leads(name: str, does: str, location: str) -> Fault:
    return whole(name, does, "", "302 Found", f"Location: {location}")


async def _never(visit: Visit) -> None:
    await visit.hang()


async def _slow_head(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 200 OK\r\n")
    await visit.drip(b"X-Wait: a little\r\n", 0.2)


async def _slow_body(visit: Visit) -> None:
    await visit.send(_OK + b"\r\n")
    await visit.drip(b"<p>wait</p>\n", 0.2)


async def _endless_head(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 200 OK\r\n")
    await visit.drip(b"X-Bomb: " + b"x" * 8000 + b"\r\n", 0)


async def _endless_body(visit: Visit) -> None:
    await visit.send(_OK + b"\r\n")
    await visit.drip(_MORE, 0)


async def _endless_interim(visit: Visit) -> None:
    await visit.drip(100 * b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n", 0)


async def _reset(visit: Visit) -> None:
    await visit.send(_OK + b"Content-Length: 1000\r\n\r\n<p>and then")
    visit.writer.transport.abort()


async def _fails_twice(visit: Visit) -> None:
    good = visit.number > 2
    await visit.send(reply(_reaching("fails-twice")) if good else reply("", "500 Internal Server Error"))


async def _chain(visit: Visit) -> None:
    step = int("0" + visit.path.rpartition("/")[2].removeprefix("redirect-chain"))
    await visit.send(reply("", "302 Found", f"Location: /redirect-chain/{step + 1}") if step < 30 else reply(""))


async def _cookie_flood(visit: Visit) -> None:
    cookies = [f"Set-Cookie: flood{number}={'x' * 3000}; Path=/" for number in range(20)]
    await visit.send(reply(_reaching("cookie-flood"), "200 OK", *cookies))


async def _cookie_wall(visit: Visit) -> None:
    """Redirect to itself until the cookie comes back."""
    if b"seen=1" in visit.head:
        await visit.send(reply(_reaching("cookie-wall")))
    else:
        await visit.send(reply("", "302 Found", "Location: /cookie-wall?checked", "Set-Cookie: seen=1; Path=/"))


async def _foreign_cookie(visit: Visit) -> None:
    headers = ("Set-Cookie: stolen=1; Domain=example.com", "Set-Cookie: suffix=1; Domain=com")
    await visit.send(reply(_reaching("foreign-cookie"), "200 OK", *headers))


async def _large(visit: Visit) -> None:
    await visit.send(_OK + b"Content-Length: %d\r\n\r\n" % (200 * _MIB))
    await visit.drip(b"x" * _MIB, 0)


async def _large_video(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: %d\r\n\r\n" % (200 * _MIB))
    await visit.drip(bytes(_MIB), 0)


@lru_cache(maxsize=2)
def bomb(number: int) -> bytes:
    """Gzip as many MiB of spaces: one is packed and comes again and again, as to pack all would take a second."""
    packer = zlib.compressobj(9, wbits=-15)  # without head and end, which stand around all
    spaces = b" " * _MIB
    one = packer.compress(spaces) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(number):
        checksum = zlib.crc32(spaces, checksum)
    end = packer.flush() + struct.pack("<II", checksum, number * _MIB)
    return gzip.compress(b"")[:10] + one * number + end


async def _gzip_bomb(visit: Visit) -> None:
    await visit.send(reply(bomb(256), "200 OK", _GZIP))


def _thrice() -> bytes:
    return gzip.compress(gzip.compress(gzip.compress(_reaching("gzip-thrice").encode())))


def _torn(name: str, body: bytes, *headers: str) -> Fault:
    """Return a page that is announced as longer than it is."""
    lines = "".join(f"{header}\r\n" for header in headers).encode()
    return says(name, "a page that breaks off", _OK + lines + b"Content-Length: %d\r\n\r\n" % (len(body) + 500) + body)


async def _slow_links(visit: Visit) -> None:
    await visit.send(_OK + b"\r\n" + _reaching("slow-links").encode())
    await visit.drip(b"<p>wait</p>\n", 0.2)


async def _endless_links(visit: Visit) -> None:
    await visit.send(_OK + b"\r\n" + _reaching("endless-links").encode())
    await visit.drip(_MORE, 0)


_LONG = _reaching("torn-gzip") + "".join(f"<p>{number * 7919}" for number in range(2000))
_CHUNK = _reaching("torn-chunk").encode()
_ANSWERS = (
    whole("not-found", "404", "gone", "404 Not Found"),
    whole("server-error", "500 each time", "oops", "500 Internal Server Error"),
    says("no-content", "204", b"HTTP/1.1 204 No Content\r\n\r\n"),
    says("unasked-304", "304 to a request without condition", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    whole("status-999", "a status that no RFC knows", "no", "999 Request denied"),
    _leads("redirect-loop", "leads to itself", "/redirect-loop"),
    whole("redirect-nowhere", "302 without a Location", _reaching("redirect-nowhere"), "302 Found"),
    whole("redirect-empty", "302 with an empty Location", _reaching("redirect-empty"), "302 Found", "Location: "),
    whole("choices", "300 with links to choose from", _reaching("choices"), "300 Multiple Choices"),
    _leads("redirect-file", "leads to a file of the crawler's", "file:///etc/passwd"),
    _leads("redirect-script", "leads to JavaScript", "javascript:alert(1)"),
    _leads("redirect-metadata", "leads to a cloud's credentials", "http://169.254.169.254/latest/"),
    _leads("redirect-odd-loopback", "leads to loopback, oddly written", "http://0x7f.1:2/"),
    says("length-short", "more bytes than announced", _OK + b"Content-Length: 5\r\n\r\n<p>and more</p>"),
    says("length-long", "fewer bytes than announced", _OK + b"Content-Length: 5000\r\n\r\n<p>less</p>"),
    says("length-absurd", "a length beyond all numbers", _OK + b"Content-Length: " + b"9" * 400 + b"\r\n\r\nx"),
    says("chunk-broken", "a chunk without a size", _OK + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n"),
    says("chunk-cut", "ends inside a chunk", _OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhello"),
    says("cut-in-head", "ends inside the head", b"HTTP/1.1 200 OK\r\nContent-Ty"),
    says("says-nothing", "closes without an answer", b""),
    says("not-http", "another protocol", b"SSH-2.0-OpenSSH_9.2\r\n"),
    says("binary", "no text at all", bytes(range(256)) * 8),
    _torn("torn", _reaching("torn").encode()),
    _torn("torn-gzip", gzip.compress(_LONG.encode())[:-2000], _GZIP),
    _torn("torn-nofollow", page("torn-nofollow", "/reached/torn-nofollow").encode(), "X-Robots-Tag: nofollow"),
    says("torn-chunk", "ends inside a chunk", _OK + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n" + _CHUNK),
    whole("gzip-cut", "compressed and cut", gzip.compress(b"<p>" * 9999)[:60], "200 OK", _GZIP),
    whole("gzip-not", "says it is compressed", page("gzip-not"), "200 OK", _GZIP),
    whole("gzip-thrice", "compressed three times", _thrice(), "200 OK", f"{_GZIP}, gzip, gzip"),
    whole("encoding-unknown", "compressed as nobody can", b"\x01\x02", "200 OK", "Content-Encoding: quux"),
)


ANSWER_FAULTS: tuple[Fault, ...] = (
    *_ANSWERS,
    Fault("never", "never answers", _never),
    Fault("slow-head", "a head in drops", _slow_head),
    Fault("slow-body", "a body in drops, for ever", _slow_body),
    Fault("endless-head", "headers without end", _endless_head),
    Fault("endless-body", "a body without end", _endless_body),
    Fault("endless-interim", "interim answers without end", _endless_interim),
    Fault("slow-links", "links, and then drops for ever", _slow_links),
    Fault("endless-links", "links, and then a body without end", _endless_links),
    Fault("reset", "resets inside the body", _reset),
    Fault("fails-twice", "500 twice, then a page", _fails_twice, keeps=True),
    Fault("redirect-chain", "thirty redirects in a row", _chain, keeps=True),
    Fault("cookie-flood", "twenty cookies of 3 KB", _cookie_flood, keeps=True),
    Fault("cookie-wall", "nothing without its cookie", _cookie_wall, keeps=True),
    Fault("foreign-cookie", "cookies for other sites", _foreign_cookie, keeps=True),
    Fault("large", "200 MiB of HTML", _large),
    Fault("large-video", "200 MiB of video", _large_video),
    Fault("gzip-bomb", "256 MiB of nothing in 256 KiB", _gzip_bomb, keeps=True),
)
