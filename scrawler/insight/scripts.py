"""Why a page that was fetched led nowhere: its links may be made by scripts, which only a browser runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from scrawler.errors import RecordsLostError
from scrawler.extract.charset import to_utf8
from scrawler.extract.scripted import scripted
from scrawler.insight.answer import Fact
from scrawler.insight.contents import PageContent
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.urls.scope import host_port

_SHORTEST = 3  # characters of a path: a shorter one stands anywhere
_LARGEST = 2 << 20  # bytes of a body that is looked at; of what is larger a browser is shown nothing


def scripts_fact(page: PageRow, read: Callable[[PageRow], PageContent], whose: str = "its links") -> Fact | None:
    """Say that a page's links are probably made by scripts, where its archived body looks like that.

    `read` gets it out of the archive. `whose` says in words which links these are.
    """
    content = _content(page, read)
    if content is None:
        return None
    found = scripted(content.decoded().body, content.headers.get("content-type", ""))
    if found is None or not found.is_likely:
        return None
    lines = (f"{whose} are probably made by scripts: it has {found}", _browser(page.url))
    return Fact("scripts", lines, found._asdict())


def named_fact(page: PageRow, url: str, read: Callable[[PageRow], PageContent]) -> Fact | None:
    """Say that a page which has no link to a URL names it all the same, as scripts do."""
    content = _content(page, read)
    parts = urlsplit(url)
    name = f"{parts.path}?{parts.query}" if parts.query else parts.path
    if content is None or len(name) < _SHORTEST or host_port(page.url) != host_port(url):
        return None
    body = to_utf8(content.decoded().body, content.headers.get("content-type", ""))[0]
    if _named(name).search(body) is None:
        return None
    lines = (f"{page.url} names it where no link stands, as in a script: only a browser runs those", _browser(page.url))
    return Fact("scripts", lines, {"page": page.url, "names": name})


def _named(name: str) -> re.Pattern[bytes]:
    """Return what finds a path that stands alone, with or without its first slash."""
    return re.compile(rb"(?<![\w./-])/?" + re.escape(name.removeprefix("/").encode()) + rb"(?![\w./?-])")


def _content(page: PageRow, read: Callable[[PageRow], PageContent]) -> PageContent | None:
    """Return the archived body of an HTML page that no browser has shown; None: it is not at hand."""
    shown = page.flags & PageFlag.SHOWN
    if page.result != Result.FETCHED or page.content_type != "text/html" or shown or not page.warc_file:
        return None
    if page.length > _LARGEST:
        return None
    try:
        return read(page)
    except RecordsLostError:
        return None


def _browser(url: str) -> str:
    host = host_port(url)[0]
    name = f"[{host}]" if ":" in host else host
    return f'browser = true under [sites."{name}"] in scrawler.toml has the pages of its host shown in a browser'
