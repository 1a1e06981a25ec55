"""Labels of host names in punycode: what browsers refuse of them (URL Standard, "domain to ASCII"; UTS #46, 4).

ada reads most hosts of plain letters as they are, and lets labels pass that stand for no name. Such a host is never
looked up by a browser, and no registry has it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ada_url import idna

PREFIX = "xn--"
_UNASSIGNED = "Cn"


def has_bad_label(url: str) -> bool:
    """Tell whether a label of the host of a normalised URL is no punycode of a name."""
    begin = url.index("//") + 2
    return _is_bad_host(url[begin : url.index("/", begin)])


@lru_cache(maxsize=1_024)
def _is_bad_host(authority: str) -> bool:
    host = authority.rpartition("@")[2].partition(":")[0]
    return any(label.startswith(PREFIX) and _is_bad(label) for label in host.split("."))


def _is_bad(label: str) -> bool:
    if idna.decode(label) != label:
        return False
    try:
        name = label[len(PREFIX) :].encode().decode("punycode")
        again = name.encode("punycode").decode()
    except (UnicodeError, ValueError):
        return True
    if name.isascii() or again != label[len(PREFIX) :]:
        return True
    # A character of a Unicode that is newer than ada's tables may be in a name that is registered by now.
    return not any(unicodedata.category(character) == _UNASSIGNED for character in name)
