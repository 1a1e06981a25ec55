"""A report as one HTML page: no script, no resource from elsewhere, in light and in dark.

Nothing that came from the web is markup in it, or a link: a report can be opened and passed on without harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrawler.insight.answer import utc
from scrawler.insight.plots import bars, columns, text
from scrawler.insight.sections import Report, Section, Table, label, shown

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #d0d7de; --bar: #0969da; --faint: #59636e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --bar: #4493f8; --faint: #9198a1 }
}
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif }
h1 { overflow-wrap: anywhere } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
.wide { overflow-x: auto; margin: .5rem 0 1.5rem }
table { border-collapse: collapse; font-size: .9em }
caption, figcaption { text-align: left; font-weight: 600; padding: .25rem 0 }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere }
th { overflow-wrap: normal } td:not(.number) { min-width: 14ch }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
figure { margin: 1rem 0 } svg { display: block; max-width: 100%; height: auto; font: 12px system-ui, sans-serif }
svg text { fill: var(--ink) } svg rect { fill: var(--bar) }
dl { display: grid; grid-template-columns: fit-content(50%) minmax(0, 1fr); gap: .1rem 1.5rem }
dt { color: var(--faint) }
dd { margin: 0; overflow-wrap: anywhere } footer { color: var(--faint); margin-top: 3rem }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_BARS = 30  # bars of one plot at most


def html_page(report: Report) -> Iterator[str]:
    """Yield the page in parts."""
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{text(report.title)}</h1>\n"
    )
    for section in report.sections:
        yield from _section(section)
    yield f"</main>\n<footer>Made by SCrawler, {text(utc(report.made_at))}</footer>\n</body>\n</html>\n"


def _section(section: Section) -> Iterator[str]:
    tables = list(section.filled)
    if not (tables or section.values):
        return
    yield f'<section id="{text(section.key)}">\n<h2>{text(section.title)}</h2>\n'
    if section.values:
        pairs = (f"<dt>{text(label(name))}</dt><dd>{_cell(name, value)}</dd>" for name, value in section.values.items())
        yield f"<dl>{''.join(pairs)}</dl>\n"
    for table in tables:
        if table.plot:
            yield _plot(section.key, table) + "\n"
        yield from _table(table)
    yield "</section>\n"


def _plot(section: str, table: Table) -> str:
    at = table.columns.index(table.plot)
    points = [
        (shown(table.columns[0], row[0]), float(row[at]), shown(table.plot, row[at])) for row in table.rows[:_BARS]
    ]
    draw = columns if table.ordered else bars
    title = f"{table.title}: {label(table.plot)}"
    drawn = draw(f"{section}-{table.key}", title, points)
    return f"<figure>\n<figcaption>{text(title)}</figcaption>\n{drawn}\n</figure>"


def _table(table: Table) -> Iterator[str]:
    heads = (f'<th scope="col">{text(label(name))}</th>' for name in table.columns)
    # What is wider than the page scrolls by itself; it can be reached by the keyboard, so it has a name.
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{text(table.title)}">\n'
    yield f"<table>\n<caption>{text(table.title)}</caption>\n<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n"
    for row in table.rows:
        cells = (
            f'<td class="number">{_cell(name, value)}</td>' if _is_number(value) else f"<td>{_cell(name, value)}</td>"
            for name, value in zip(table.columns, row, strict=True)
        )
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _cell(name: str, value: Any) -> str:
    return text(shown(name, value))
