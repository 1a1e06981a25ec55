"""Pure decisions of a collector, each with its reason in the result."""

from __future__ import annotations

from typing import Final

from scrawler.core.rules import SeedLimits
from scrawler.fetch.downloader import INVALID_LENGTH, UNASKED, Response
from scrawler.model.lanes import SLOW, LaneKey, LaneKind
from scrawler.model.results import AS_EXPECTED, TRIED_AGAIN, Result
from scrawler.model.seeds import EndReason, SeedCounts
from scrawler.units import counted

MAX_REDIRECTS = 20  # in a row, as browsers follow (Fetch Standard, 4.4)
PUSH_BACK: Final = frozenset({429, 503})  # statuses by which a server asks for fewer requests
_RETRY_STATUS = frozenset({500, 502, 504})
_PATIENT = (LaneKind.SLOW, LaneKind.REFETCH, LaneKind.WANTED, LaneKind.REREAD)  # these wait as long as may be
_CUT_RESULTS = frozenset({Result.CUT, Result.TIMEOUT, Result.TOO_LARGE})
_SHUT_RESULTS = frozenset({Result.CUT, Result.CONNECT_FAILED, Result.TLS_FAILED})
_SEED_FAILURES = {
    Result.NO_ADDRESS: EndReason.NO_ADDRESS,
    Result.PRIVATE_ADDRESS: EndReason.PRIVATE_ADDRESS,
    Result.ROBOTS_DENIED: EndReason.ROBOTS_DENIED,
    Result.ROBOTS_UNAVAILABLE: EndReason.ROBOTS_UNAVAILABLE,
    Result.HTTP_ERROR: EndReason.HTTP_ERROR,
    Result.UNWANTED_TYPE: EndReason.UNWANTED_TYPE,
    Result.REDIRECT: EndReason.REDIRECTED,
    Result.TOO_MANY_REDIRECTS: EndReason.REDIRECTED,
    Result.INTERNAL_ERROR: EndReason.INTERNAL_ERROR,
}


def limit_reached(counts: SeedCounts, elapsed_ms: int, limits: SeedLimits, in_flight: int = 0) -> EndReason | None:
    """Tell whether a seed may start no further request, and by which limit."""
    if limits.max_pages is not None and counts.pages + in_flight >= limits.max_pages:
        return EndReason.MAX_PAGES
    if limits.max_bytes is not None and counts.bytes >= limits.max_bytes:
        return EndReason.MAX_BYTES
    if limits.max_time_ms is not None and elapsed_ms >= limits.max_time_ms:
        return EndReason.MAX_TIME
    return None


def shows_page(response: Response) -> bool:
    """Tell whether an answer's body is one that a browser shows and a reader goes on from, so that its links count.

    Besides a page that is one of a choice (300), or a redirect that does not say where: its body says it to people. Of
    a page that was cut, what came counts.
    """
    if response.result is Result.HTTP_ERROR:
        return 300 <= response.status < 400
    return response.result is Result.FETCHED or is_cut_page(response)


def is_cut_page(response: Response) -> bool:
    """Tell whether an answer is a page of which only the beginning came."""
    return response.result in _CUT_RESULTS and 200 <= response.status < 300 and response.body != b""


def has_invalid_length(response: Response) -> bool:
    """Tell whether an answer was not taken for its Content-Length, so that the next request is to ignore that."""
    return response.result is Result.BAD_ANSWER and response.detail == INVALID_LENGTH


def is_disbelieved(response: Response) -> bool:
    """Tell whether an answer may have been that to another request, so that nothing is known of its URL."""
    return response.result is Result.BAD_ANSWER and response.detail == UNASKED


def shuts_door(response: Response) -> bool:
    """Tell whether a server has ended a connection before it said a word, as some do whom they want no more of."""
    if response.status or response.result not in _SHUT_RESULTS:
        return False
    return response.result is Result.CUT or "reset" in response.detail.lower()


def wants_retry(result: Result, status: int, attempt: int, retries: int) -> bool:
    """Tell whether a URL is tried again after its `attempt`-th attempt (1 is the first)."""
    if attempt > retries:
        return False
    return result in TRIED_AGAIN or (result is Result.HTTP_ERROR and status in _RETRY_STATUS)


def out_of_patience(response: Response, lane: LaneKey) -> bool:
    """Tell whether an answer took longer than the first pass waits; `lane` is that of the request.

    What is given up for another timeout, as that of the connection, comes earlier.
    """
    if response.result is not Result.TIMEOUT or lane.kind in _PATIENT:
        return False
    return 0 < 0.9 * response.request.timeout * 1000 <= response.elapsed_ms


def listed_again(response: Response, lane: LaneKey, retries: int, pushbacks: int) -> LaneKey | None:
    """Return the key of the lane in which a URL is tried again, None if this is its final result.

    Neither push-backs nor the first pass use up its `retries`; after so many `pushbacks` of its own it is given up,
    for it may be the page that is broken, not the server that is busy.
    """
    if response.status in PUSH_BACK:
        return lane.after(pushbacks=1) if lane.pushbacks + 1 < pushbacks else None
    if out_of_patience(response, lane):
        return SLOW
    again = wants_retry(response.result, response.status, lane.retries + 1, retries)
    return lane.after(retries=1) if again else None


def location_of(response: Response) -> str:
    """Return where a redirect says it leads."""
    return header_text(response, "location")


def too_many_redirects(location: str) -> str:
    """Say that a chain of redirects is not followed any more, and where the next one leads."""
    return f"more than {MAX_REDIRECTS} redirects in a row, the last to {location}"


def header_text(response: Response, name: str) -> str:
    """Return a header that holds URLs: headers are read as Latin-1, but what servers send there is UTF-8."""
    value = response.headers.get(name, "")
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def end_reason(
    counts: SeedCounts, seed_result: Result | None, links_left_out_for_depth: bool, is_endless: bool = False
) -> EndReason:
    """Say why a party that has nothing left is done; `seed_result` is that of the seed's own URL, if known.

    It is that of a URL that could not be read: one that was cut, and read, does not stand for the party's end.
    """
    if counts.pages == 0 and seed_result is not None and seed_result not in AS_EXPECTED:
        return _SEED_FAILURES.get(seed_result, EndReason.DEAD)
    if is_endless:  # such a space is below any depth as well
        return EndReason.ENDLESS
    if links_left_out_for_depth:
        return EndReason.MAX_DEPTH
    return EndReason.COMPLETED


def end_detail(counts: SeedCounts, links_not_followed: int) -> str:
    """Say in words why a completed party is as small as it is, where its counts tell that."""
    if counts.pages == 1 and links_not_followed:
        links = counted(links_not_followed, "link of its only page is", "links of its only page are")
        return f"{links} not followed, because the page or its links ask for that"
    return ""
