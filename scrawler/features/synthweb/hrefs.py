"""Links as authors write them: relative, absolute, with fragments, with dots, in capitals, in several elements."""

from __future__ import annotations

from scrawler.features.synthweb.site import Site
from scrawler.features.synthweb.web import Link, SyntheticWeb, Target

_WORDS = (
    *("about", "archive", "contact", "details", "events", "figures", "guide", "history"),
    *("index", "journal", "map", "notes", "report", "results", "sources"),
)


class LinkWriter:
    """Writes the links of one page; all ways of writing a target resolve and normalise to its one URL."""

    def __init__(self, web: SyntheticWeb, site: Site, base: str) -> None:
        self._web = web
        self._site = site
        self._base = base.partition("?")[0]  # path of the page, or of its <base>
        self._folder = self._base[: self._base.rindex("/") + 1]
        self._up = "../" * (self._base.count("/") - 1)

    def element(self, link: Link) -> str:
        """Write the link's element: mostly <a>, now and then <area> or <iframe>."""
        target, style = link
        href = (
            self._internal(target, style & 15) if target.site == self._site.index else self._external(target, style & 7)
        )
        tag = style >> 4 & 63
        if tag == 1:
            return f'<li><map name="m{style}"><area href="{href}" alt="{_WORDS[style % 15]}"></map></li>'
        if tag == 2:
            return f'<li><iframe src="{href}"></iframe></li>'
        if tag == 3:
            return f"<LI><A CLASS=x HREF='{href}'\n>{_WORDS[style % 15]}</A>"
        return f'<li><a href="{href}">{_WORDS[style % 15]} {target.number}</a></li>'

    def _internal(self, target: Target, form: int) -> str:
        path = self._web.path(target).replace("&", "&amp;")
        if form < 4:
            return path
        if form < 9:
            return self._relative(path)
        if form < 11:
            return f"http://{self._site.authority}{path}"
        if form == 11:
            return f"{self._relative(path)}#s{target.number % 7}"
        if form == 12:
            return f"/x/..{path}"
        if form == 13:
            return f" /.{path}\n"
        if form == 14:
            return f"//{self._site.authority}{path}#"
        return f"HTTP://{self._site.authority.upper()}{path}"

    def _external(self, target: Target, form: int) -> str:
        authority = self._web.site(target.site).authority
        path = self._web.path(target).replace("&", "&amp;")
        if form == 0:
            return f"//{authority}{path}"
        if form == 1:
            return f"http://{authority}{path}#s{target.number % 7}"
        if form == 2:
            return f"HTTP://{authority.upper()}{path}"
        return f"http://{authority}{path}"

    def _relative(self, path: str) -> str:
        """Write a path relative to the base: from its folder if it is in it, up to the root and down again if not."""
        bare, mark, query = path.partition("?")
        if mark and bare == self._base:
            return mark + query
        if path.startswith(self._folder):
            return path[len(self._folder) :] or "./"
        return self._up + path[1:] or "./"
