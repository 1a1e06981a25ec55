"""Why a page that was fetched led nowhere: its links may be made by scripts, which only a browser runs."""

from __future__ import annotations

from collections.abc import Callable

from scrawler.errors import RecordsLostError
from scrawler.extract.scripted import scripted
from scrawler.insight.answer import Fact
from scrawler.insight.contents import PageContent
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.urls.scope import host_port

_LARGEST = 2 << 20  # bytes of a body that is looked at; of what is larger a browser is shown nothing


def scripts_fact(page: PageRow, read: Callable[[PageRow], PageContent]) -> Fact | None:
    """Say that a page's links are probably made by scripts, where its archived body looks like that.

    `read` gets it out of the archive.
    """
    shown = page.flags & PageFlag.SHOWN
    if page.result != Result.FETCHED or page.content_type != "text/html" or shown or not page.warc_file:
        return None
    if page.length > _LARGEST:
        return None
    try:
        content = read(page)
    except RecordsLostError:
        return None
    found = scripted(content.decoded().body, content.headers.get("content-type", ""))
    if found is None or not found.is_likely:
        return None
    host = host_port(page.url)[0]
    name = f"[{host}]" if ":" in host else host
    lines = (
        f"its links are probably made by scripts: it has {found}",
        f'browser = true under [sites."{name}"] in scrawler.toml has the pages of its host shown in a browser',
    )
    return Fact("scripts", lines, found._asdict())
