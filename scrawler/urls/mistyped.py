"""What stands in a link and leads nobody anywhere: what is no URL, and schemes with a letter too few or too many."""

from __future__ import annotations

import re
from functools import lru_cache

from scrawler.urls.normalise import normalise
from scrawler.urls.verdict import Verdict

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_SLASHES_ALONE = re.compile(r"https?[;.,]?//", re.IGNORECASE)  # read as a path of the site
_MEANT = ("http", "https", "mailto", "tel", "ftp")
_LONG = 5  # letters of a scheme in which two may be wrong
# Those of the IANA's list and of well-known programs that look like one of these.
_OTHERS = frozenset((
    "callto", "dtp", "ftps", "gtp", "http+unix", "httpx", "hxxp", "hxxps", "ntp", "rtp", "rtsp", "sftp", "shttp", "sms",
    "smtp", "smtps", "snmp", "tels", "tev", "tftp", "tip", "tn3270", "utp"
))  # fmt: skip


def what_is_wrong(href: str, base: str, *, resolved: bool) -> tuple[str, str] | None:
    """Return the reason why nobody gets anywhere by a link, and a word on it; None where that is not known.

    `resolved` tells whether a URL of http has come of it.
    """
    if resolved:
        if _SLASHES_ALONE.match(href):
            return Verdict.SCHEME.value, "a colon is missing behind http"
        return None
    plain = href.partition("#")[0].strip()
    reason = normalise(plain, base).reason
    if reason is Verdict.SYNTAX:
        return Verdict.SYNTAX.value, "no URL"
    scheme = _SCHEME.match(plain)
    if reason is not Verdict.SCHEME or scheme is None:
        return None
    return _wrong_scheme(scheme[1].lower(), plain[scheme.end() :])


def _wrong_scheme(scheme: str, rest: str) -> tuple[str, str] | None:
    if scheme == "mailto":
        address, _, fields = rest.partition("?")
        if (address and "@" not in address and "%40" not in address) or not (address or fields):
            return Verdict.SYNTAX.value, "no address"
        return None
    if scheme == "tel" and not rest.strip():
        return Verdict.SYNTAX.value, "no number"
    meant = _meant(scheme)
    return (Verdict.SCHEME.value, f"{meant}: is meant") if meant else None


@lru_cache(maxsize=256)
def _meant(scheme: str) -> str:
    """Return the scheme that a mistyped one is nearest to; empty: it is one of its own."""
    if scheme in _MEANT or scheme in _OTHERS:
        return ""
    distance, place = min((_distance(scheme, one), place) for place, one in enumerate(_MEANT))
    meant = _MEANT[place]
    is_long = min(len(scheme), len(meant)) >= _LONG
    most = 2 if is_long else 1
    return meant if distance <= most else ""


def _distance(one: str, other: str) -> int:
    """Return by how many letters two words differ, neighbours that change places being one (Damerau)."""
    if abs(len(one) - len(other)) > 2:
        return 3
    before: list[int] = []
    row = list(range(len(other) + 1))
    for n, a in enumerate(one, 1):
        further = [n]
        for m, b in enumerate(other, 1):
            cost = min(row[m] + 1, further[-1] + 1, row[m - 1] + (a != b))
            if n > 1 and m > 1 and a == other[m - 2] and one[n - 2] == b:
                cost = min(cost, before[m - 2] + 1)
            further.append(cost)
        before, row = row, further
    return row[-1]
