"""A page as Markdown (CommonMark, tables as GitHub has them), for people and for what reads texts.

It is made by html-to-markdown: on a page of 17 KB it takes 2.4 ms where markdownify takes 26, nests lists right, and
escapes what would be markup in Markdown but was none in the page. trafilatura makes Markdown of the main text alone,
resiliparse none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scrawler.errors import SettingsError
from scrawler.extract.beginning import beginning
from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.shown import shown
from scrawler.extract.sniff import HTML_TYPES
from scrawler.extract.visible import visible_text
from scrawler.mime import media_type

# Signs of formulas that would be escaped, and mean nothing within a line; they are kept by characters of private use.
_KEPT = {ord(sign): chr(0xF500 + ord(sign)) for sign in "=+-"}
_KEPT_BACK = {ord(kept): chr(sign) for sign, kept in _KEPT.items()}
_UNSEEN = ["svg", "math", "noscript", "template", "datalist"]


def markdown_text(body: bytes, content_type: str, kind: str, url: str) -> str | None:
    """Return a decoded body as Markdown, without its navigation and forms; None for what is no text.

    `content_type` is what the server said, `kind` the media type that counts; links are made absolute by `url`. Text
    that is no HTML stays as it is, as does the text of a page that no tree can be built of. Raises SettingsError where
    what makes Markdown is not installed.
    """
    if (kind or media_type(content_type).essence or "text/html") not in HTML_TYPES:
        return visible_text(body, content_type, kind)
    page, _ = to_utf8(beginning(body), content_type)
    if is_hazardous(page):
        return visible_text(body, content_type, kind)
    maker = _maker()
    options = maker.ConversionOptions(
        base_url=url,
        escape_asterisks=True,
        escape_misc=True,
        escape_underscores=True,
        exclude_selectors=_UNSEEN,
        extract_metadata=False,
    )
    text: str = maker.convert(shown(page, _KEPT).decode("utf-8", "replace"), options).content
    return text.translate(_KEPT_BACK).strip("\n")


def _maker() -> Any:
    try:
        return import_module("html_to_markdown")
    except ImportError as error:
        raise SettingsError(
            "Markdown is made by html-to-markdown, which is not installed: pip install 'seed-scrawler[markdown]'"
        ) from error
