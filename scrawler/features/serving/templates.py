"""Pages that are made of rows, by Jinja2: in its sandbox, and with everything escaped that is not marked as safe."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from jinja2 import BaseLoader, DictLoader, FileSystemLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from scrawler.features.serving.rows import FoundRow
from scrawler.features.serving.tables import TablesError

_PLAIN = """<!doctype html>
<html><head><meta charset="utf-8"><title>{{ title }}</title></head><body>
<h1>{{ title }}</h1>
<dl>{% for name, value in row.items() %}<dt>{{ name }}</dt><dd>{{ "" if value is none else value }}</dd>
{% endfor %}</dl>
</body></html>
"""
_FOUND = """<!doctype html>
<html><head><meta charset="utf-8"><title>{{ term }}</title></head><body>
<form action="{{ base }}search"><input name="q" value="{{ term }}"></form>
<ul>{% for url, title in found %}<li><a href="{{ url }}">{{ title }}</a></li>
{% endfor %}</ul>
</body></html>
"""


class PageError(Exception):
    """A template cannot be filled."""


class Templates:
    """The templates of a site: files of a folder, or the plain one."""

    def __init__(self, folder: Path | None) -> None:
        """Take templates from `folder`."""
        loader: BaseLoader = DictLoader({}) if folder is None else FileSystemLoader(folder)
        self._environment = ImmutableSandboxedEnvironment(autoescape=True, loader=loader, undefined=StrictUndefined)
        self._folder = folder
        self._plain = self._environment.from_string(_PLAIN)
        self._found = self._environment.from_string(_FOUND)

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return the digests of templates that are used, by name. Raises TablesError."""
        found = {}
        for name in {name for name in names if name}:
            if self._folder is None:
                raise TablesError(f"say where the template {name} is: --templates FOLDER")
            try:
                self._environment.get_template(name)
                found[name] = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()
            except (TemplateError, OSError, UnicodeDecodeError) as error:
                raise TablesError(f"cannot read the template {self._folder / name}: {error}") from error
        return found

    def page(self, row: FoundRow) -> bytes:
        """Make the page of a row. Raises PageError."""
        name = row.table.template
        try:
            template = self._environment.get_template(name) if name else self._plain
            return template.render(row=dict(row.values), table=row.table.name, title=title_of(row)).encode()
        except Exception as error:  # of a template that somebody else wrote, anything
            raise PageError(f"template {name or 'of rows'}: {error}") from error

    def found(self, base: str, term: str, rows: list[FoundRow]) -> bytes:
        """Make the page of what a search has found."""
        found = [(base + row.path, title_of(row)) for row in rows]
        return self._found.render(base=base, term=term, found=found).encode()


def title_of(row: FoundRow) -> str:
    """Return what a row is called: its first text."""
    texts = (value for value in row.values.values() if isinstance(value, str) and value)
    return next(texts, row.path)[:200]
