"""Whether a site may be asked for what has changed since alone, and whether its answers to that are what they say.

Some servers refuse such requests, or answer what is no answer to them, and would send the page without a condition. So
what is no plain word that a page is as it was is asked for once more as a whole, and counts only then.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from scrawler.dates import mail_date
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.model.visits import is_same_tag, validators

_MOST: Final = 1_000  # URLs of a site that wait to be asked for as a whole
_ENOUGH: Final = 5  # URLs for which the condition was at fault, after which no other is asked for under one
_NO_BODY: Final = (HTTPStatus.NO_CONTENT.value, HTTPStatus.PARTIAL_CONTENT.value)  # nobody has asked for a part


class Conditions:
    """What conditional requests have come to at a site."""

    __slots__ = ("_at_fault", "_honoured", "_refused")

    def __init__(self) -> None:
        self._refused: set[str] = set()  # URLs whose conditional request has come to nothing, to be asked for again
        self._at_fault = 0  # how many of them came when they were asked for without
        self._honoured = 0

    @property
    def are_sent(self) -> bool:
        """Whether there is a use in asking under a condition."""
        return self._at_fault < _ENOUGH or self._at_fault <= self._honoured

    def refused(self, url: str) -> None:
        """Note that a URL is asked for once more, without a condition."""
        if len(self._refused) < _MOST:
            self._refused.add(url)

    def answered(self, url: str, response: Response) -> bool:
        """Note the last answer of a URL; return whether it is to be asked for as a whole at its next visit as well."""
        if url in self._refused:
            self._refused.discard(url)
            at_fault = response.result in (Result.FETCHED, Result.REDIRECT)
            self._at_fault += at_fault
            return at_fault
        self._honoured += response.result is Result.NOT_MODIFIED or response.recalled is not None
        return not self.are_sent


def refuses_condition(response: Response) -> bool:
    """Tell whether an answer may be what it is because of the condition alone under which its request was sent."""
    request, status = response.request, response.status
    if not (request.headers and request.is_conditional):
        return False
    if response.result is Result.NOT_MODIFIED:
        return _names_another(response)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return False
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "retry-after" not in response.headers
    if response.result is Result.HTTP_ERROR:
        return status >= HTTPStatus.BAD_REQUEST
    return response.result is Result.CUT or (response.result is Result.FETCHED and status in _NO_BODY)


def _names_another(response: Response) -> bool:
    """Tell whether a 304 speaks of another payload than that for which it was asked (RFC 9111, 4.3.4)."""
    etag = response.headers.get("etag", "").strip()
    asked = [value for name, value in response.request.headers if name == "If-None-Match"]
    return bool(etag and asked) and not is_same_tag(etag, asked[0])


def kept_validators(etag: str, last_modified: str) -> tuple[str, str]:
    """Return what is kept of the two headers; a date that is none would be ignored (RFC 9110, 13.1.3)."""
    return validators(etag, last_modified if mail_date(last_modified) is not None else "")
