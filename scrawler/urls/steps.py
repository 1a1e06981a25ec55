"""Steps beyond the WHATWG standard by which different spellings of a URL become one.

What the standard itself does always happens, in `normalise`: lower case of scheme and host, IDNA and the many forms of
an IPv4 address, no default port, no dot segments (`%2e` written or not), a slash for an empty path, backslashes as
slashes, percent-encoding of what may not stand as it is; there fragment and userinfo go as well.

Each of these can be left out; they are applied in this order, whatever the order of their names:

- `percent-case`: escapes in capitals, and those of unreserved characters decoded (RFC 3986, 6.2.2.1 and 6.2.2.2)
- `session-ids`: without the identifiers of sessions that stand in path or query
- `tracking`: without the parameters by which advertisers and mailers follow a click
- `empty-query`: without a question mark at the end
- `sorted-query`: parameters in the order of their names, those of one name as they were
- `www`: `www.example.org` and `example.org` are one site. Only that one spells links to it as the party's home is
  spelt (see `spellings`); no URL of another site is changed.

All of it applied twice is the same as once, and what comes out is normalised by the standard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from scrawler.urls.scope import authority, has_domain

Step = Callable[[str], str]

MARKS: Final = re.compile(r"[%?;(]")  # a URL without any of these is left as it is by all steps

_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
# An escape that follows half of another one stays: decoded, it could make that one whole.
_HALF: Final = re.compile(r"%[0-9A-Fa-f]?\Z")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SPELT = {
    f"{byte:02X}": chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256)
}  # two capital digits -> how that byte is written

# Servlet containers write the session behind the last segment, but for a welcome page behind any. A segment that would
# become a dot segment keeps it.
_PATH_SESSION: Final = re.compile(
    r"(?<!/\.)(?<!/\.\.)(?<!/%2e)(?<!/%2e\.)(?<!/\.%2e)(?<!/%2e%2e);jsessionid=[^;/]*", re.IGNORECASE
)
# ASP.NET without cookies: /(S(24 characters))/, perhaps with A(...) and F(...) for users, or in version 1 /(24)/.
_ASP_SEGMENT: Final = re.compile(r"/\((?:(?:[ASF]\([0-9A-Za-z_-]{20,512}\)){1,3}|[0-9a-z]{24})\)(?=/)")
_SESSIONS = frozenset({"jsessionid", "phpsessid", "zenid", "oscsid"})
_ASP_SESSION = re.compile(r"aspsessionid[a-z]{8}")
_LONG_SESSIONS = frozenset({"sid", "sessionid"})  # with a short value these names mean other things
_LONG = re.compile(r"[0-9A-Za-z]{32,}")
_COLD_FUSION = frozenset({"cfid", "cftoken"})  # both have to be there: one alone could be anything

_TRACKING_NAMES = """
    gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid msclkid yclid ysclid twclid ttclid igshid igsh
    li_fat_id epik mc_cid mc_eid _hsenc _hsmi __hssc __hstc __hsfp hsctatracking mkt_tok vero_id vero_conv
    oly_anon_id oly_enc_id _openstat wickedid rb_clickid s_kwcid ef_id pk_campaign pk_kwd pk_source pk_medium
    pk_content piwik_campaign piwik_kwd
"""
_TRACKING = frozenset(_TRACKING_NAMES.split())
_TRACKING_STARTS = ("utm_", "mtm_")

# Most queries hold nothing of all that, which is seen at a glance for less than it costs to take them apart. The
# question mark belongs to it: so each match begins with one of two characters, which alone are looked for at first.
_SESSION_MARKS = (*sorted(_SESSIONS | _LONG_SESSIONS), "aspsessionid", "cftoken")
_TRACKING_MARKS = (*_TRACKING_STARTS, *sorted(_TRACKING))
_MAY_BE_SESSION: Final = re.compile(rf"[?&](?:{'|'.join(_SESSION_MARKS)})", re.IGNORECASE)
_MAY_BE_TRACKING: Final = re.compile(rf"[?&](?:{'|'.join(_TRACKING_MARKS)})", re.IGNORECASE)
PARAMETER_MARKS = (*_SESSION_MARKS, *_TRACKING_MARKS)  # a parameter that no step takes out begins with none of these


def percent_case(url: str) -> str:
    """Write escapes in capitals, and unreserved characters without."""
    return _ESCAPE.sub(_respelt, url) if "%" in url else url


def _respelt(match: re.Match[str]) -> str:
    code = match[1].upper()
    spelt = _SPELT[code]
    if len(spelt) == 1 and _HALF.search(match.string, max(0, match.start() - 2), match.start()):
        return "%" + code
    return spelt


def session_ids(url: str) -> str:
    """Take out the identifiers of sessions; the rules are those of Heritrix and Nutch where these agree."""
    path, mark, query = url.partition("?")
    if ";" in path or "(" in path:
        start = path.index("/", 8)  # the path alone is searched: the standard lets hosts hold such characters as well
        path = path[:start] + _ASP_SEGMENT.sub("", _PATH_SESSION.sub("", path[start:]))
    url = path + mark + query
    if _MAY_BE_SESSION.search(url, len(path)) is None:
        return url
    return _without(path, query, _session_names(query))


def _session_names(query: str) -> Callable[[str, str], bool]:
    names = {parameter.partition("=")[0].lower() for parameter in query.split("&")}
    cold_fusion = names >= _COLD_FUSION

    def is_session(name: str, value: str) -> bool:
        return (
            name in _SESSIONS
            or (name in _LONG_SESSIONS and _LONG.fullmatch(value) is not None)
            or (cold_fusion and name in _COLD_FUSION)
            or (name.startswith("aspsessionid") and _ASP_SESSION.fullmatch(name) is not None)
        )

    return is_session


def tracking(url: str) -> str:
    """Take out the parameters of advertisers and mailers."""
    path, _, query = url.partition("?")
    return url if _MAY_BE_TRACKING.search(url, len(path)) is None else _without(path, query, _is_tracking)


def _is_tracking(name: str, _value: str) -> bool:
    return name in _TRACKING or name.startswith(_TRACKING_STARTS)


def _without(path: str, query: str, unwanted: Callable[[str, str], bool]) -> str:
    """Put path and query together without the unwanted parameters; without any left there is no question mark."""
    parameters = query.split("&")
    kept = []
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if not unwanted(name.lower(), value):
            kept.append(parameter)
    if len(kept) == len(parameters):
        return f"{path}?{query}"
    return f"{path}?{'&'.join(kept)}" if any(kept) else path


def empty_query(url: str) -> str:
    """Take out a question mark that nothing follows."""
    return url[:-1] if url.endswith("?") and url.index("?") == len(url) - 1 else url


def sorted_query(url: str) -> str:
    """Put the parameters in the order of their names."""
    path, mark, query = url.partition("?")
    return path + mark + "&".join(sorted(query.split("&"), key=_name)) if "&" in query else url


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


_STEPS: dict[str, Step] = {
    "percent-case": percent_case,
    "session-ids": session_ids,
    "tracking": tracking,
    "empty-query": empty_query,
    "sorted-query": sorted_query,
}


class Steps:
    """Some steps as one, for normalised URLs with one of the `MARKS`; `sorts` tells whether `sorted-query` is one."""

    __slots__ = ("_chosen", "sorts")

    def __init__(self, chosen: Sequence[Step]) -> None:
        self._chosen = tuple(chosen)
        self.sorts = sorted_query in self._chosen

    def __call__(self, url: str) -> str:
        """Return how a URL is spelt."""
        for step in self._chosen:
            url = step(url)
        return url


def make_steps(names: Collection[str]) -> Steps | None:
    """Return the steps of these names as one; None if it does nothing."""
    chosen = [step for name, step in _STEPS.items() if name in names]
    return Steps(chosen) if chosen else None


def spellings(home: str) -> dict[str, str]:
    """Return what the step `www` makes of authorities in a party with this home: other spelling -> the home's own.

    Only a name with a registrable domain has another one: not `localhost`, an address, `co.uk` or `www.co.uk`.
    """
    mine = authority(home)
    other = mine[len("www.") :] if mine.startswith("www.") else "www." + mine
    bare = min(mine, other, key=len).partition(":")[0]
    return {other: mine} if has_domain(bare) else {}
