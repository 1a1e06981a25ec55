"""An answer that a page is as it was, made whole by what an earlier crawl has archived of it.

From there on it is as if the server had sent all of it: what links there are, and what they lead to, comes out as it
would without the earlier crawl. Where that is not sure, the answer is left as it came, and the page is asked for again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scrawler.archive.record import digest, sent_head
from scrawler.features.earlier.known import EarlierSite, EarlierVisit
from scrawler.fetch.downloader import Recalled, Response
from scrawler.fetch.wire import parse_headers, unwanted_type
from scrawler.model.results import Result
from scrawler.model.visits import is_same_tag

_OF_BODY = (b"content-", b"transfer-encoding")  # how names of fields begin that speak of the body beside them


def restored(earlier: EarlierSite, url: str, response: Response) -> Response:
    """Return the answer with head and body that a server means which says that nothing has changed.

    As it came, where the earlier archive does not hold them any more, or it does not speak of these. It reads files:
    nobody has the turn meanwhile.
    """
    visit = earlier.visits.get(url)
    if visit is None or not _speaks_of(response.headers, visit):
        return response
    limits = response.request.limits
    if limits is not None and visit.length > limits.max_body:
        return response
    stored = earlier.read(url, visit)
    if stored is None or digest(stored.body) != visit.digest:
        earlier.payloads.leave(visit.digest)  # what comes as a whole now is archived as a whole
        return response
    head = refreshed_head(sent_head(stored.head), response.head)
    if unwanted_type(head.splitlines(keepends=True), response.request.accept):
        return response
    return response._replace(
        result=Result.FETCHED,
        head=head,
        headers=parse_headers(head),
        body=stored.body,
        recalled=Recalled(response.head, visit.digest, visit.payload_url, visit.payload_at),
    )


def refreshed_head(stored: bytes, said: bytes) -> bytes:
    """Return a stored head with what a 304 says anew (RFC 9111, 3.2), but for what speaks of the body.

    Cookies are those that have come now.
    """
    start, _, _ = stored.partition(b"\n")
    news = [(name, lines) for name, lines in _fields(said) if not name.startswith(_OF_BODY)]
    replaced = {name for name, _ in news} | {b"set-cookie"}
    kept = [lines for name, lines in _fields(stored) if name not in replaced]
    return b"".join((start, b"\n", *kept, *(lines for _, lines in news), b"\r\n"))


def _fields(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the fields of a head: the name in lower case, and the lines, with those that are folded behind it."""
    name, lines = b"", b""
    for line in head.splitlines(keepends=True)[1:]:
        if not line.strip():
            continue
        if line[:1] in b" \t":
            lines += line
            continue
        if lines:
            yield name, lines
        name, lines = line.partition(b":")[0].strip().lower(), line
    if lines:
        yield name, lines


def _speaks_of(headers: Mapping[str, str], visit: EarlierVisit) -> bool:
    """Tell whether a 304 can mean what an earlier crawl has: it names the ETag of what there is (RFC 9110, 15.4.5)."""
    etag = headers.get("etag", "").strip()
    return not (etag and visit.etag) or is_same_tag(etag, visit.etag)
