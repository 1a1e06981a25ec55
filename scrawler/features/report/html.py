"""A report as one HTML page: no script, no resource from elsewhere, in light and in dark.

Nothing that came from the web is markup in it, or a link: a report can be opened and passed on without harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scrawler.features.report.over_time import short_times
from scrawler.features.report.plots import bars, columns, shade, stacks, text
from scrawler.insight.answer import utc
from scrawler.insight.sections import STACKED, Report, Section, Table, shown

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #d0d7de; --bar: #0969da; --faint: #59636e;
  --link: #0969da; --shadow: #1b1f2440 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --bar: #4493f8; --faint: #9198a1;
    --link: #6cb0ff; --shadow: #e6edf340 }
}
body { margin: 2rem auto; padding: 0 1rem; max-width: 72rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif }
h1 { overflow-wrap: anywhere; font-size: clamp(1.35rem, 5vw, 2rem); line-height: 1.25 }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
nav ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0; padding: 0; list-style: none }
nav a { display: inline-block; padding: .4rem 0; color: var(--link) }
/* Where a table goes on to a side, a shadow is there: what has the colour of the paper scrolls along and covers it. */
.wide { overflow-x: auto; margin: .5rem 0 1.5rem; background:
  linear-gradient(to right, var(--paper) 1.5rem, transparent) 0 0 / 3rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 1.5rem, transparent) 100% 0 / 3rem 100% no-repeat local,
  linear-gradient(to right, var(--shadow), transparent) 0 0 / 1rem 100% no-repeat scroll,
  linear-gradient(to left, var(--shadow), transparent) 100% 0 / 1rem 100% no-repeat scroll }
table { border-collapse: collapse; font-size: .9em; min-width: min(100%, 24rem) }
caption, figcaption { text-align: left; font-weight: 600; padding: .25rem 0 }
.again { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%) }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { white-space: nowrap } td { overflow-wrap: break-word; unicode-bidi: isolate }
td.long { min-width: 15rem; overflow-wrap: anywhere; white-space: pre-line }
td.few { white-space: nowrap } .few { font-variant-numeric: tabular-nums } .number { text-align: right }
figure { margin: 1rem 0; max-width: 48rem } figure > svg { display: block; font: 12px system-ui, sans-serif }
figcaption + svg { margin-top: .5rem }
svg text { fill: var(--ink) } svg rect { fill: var(--bar) }
.s0 { --part: var(--bar) } .s1 { --part: #c98a00 } .s2 { --part: #d55e00 } .s3 { --part: #7d8590 }
.s4 { --part: #009e73 } .s5 { --part: #cc79a7 } .s6 { --part: #8250df } .s7 { --part: #2b93cf }
svg rect[class] { fill: var(--part) }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .25rem 0; font-size: .85em }
.legend span::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em;
  background: var(--part) }
details { margin: .5rem 0 1.5rem } summary { cursor: pointer; padding: .5rem 0 }
@media (max-width: 40rem) {
  .odd { display: none } body { margin: 1rem auto }
  /* A table of several long columns is a list of its rows here. */
  .rows, .rows :is(caption:not(.again), tbody, tr, td) { display: block } .rows thead { display: none }
  .rows tr { padding: .4rem 0; border-bottom: 1px solid var(--line) }
  .rows td { min-width: 0; padding: 0; border: 0; text-align: left; white-space: pre-line }
  .rows td:empty { display: none } .rows td:first-child { font-weight: 600 }
  .rows td:not(:first-child)::before { content: attr(data-name) ": "; color: var(--faint) }
}
dl { display: grid; grid-template-columns: fit-content(50%) minmax(0, 1fr); gap: .1rem 1.5rem }
dt { color: var(--faint) }
dd { margin: 0; overflow-wrap: anywhere } footer { color: var(--faint); margin-top: 3rem }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --line: #bbb; --faint: #444; --bar: #0969da }
  body { margin: 0; max-width: none; font-size: 10pt } nav { display: none }
  summary { list-style: none; font-weight: 600 }
  .wide { overflow: visible; background: none } td.long { min-width: 8rem }
  h2, caption, figcaption { break-after: avoid } figure, tr { break-inside: avoid }
  details::details-content { content-visibility: visible; block-size: auto }
  svg rect, .legend span::before { print-color-adjust: exact }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NAMES = ("status", "depth")  # columns of numbers that are names
_LONG = 24  # characters from which on a cell wants several lines
_LONG_CELL, _ROWS, _AGAIN = ' class="long"', ' class="rows"', ' class="again"'
_LONGEST = 320  # characters of one line of a cell that are shown
_END = 60  # of these, what is shown of its end
_BARS = 30  # horizontal bars of one plot at most
_OPEN_ROWS, _OPEN_WITH_PLOT = 40, 15  # longer tables are folded, those of what a plot shows as well sooner
_NOTHING = (None, "")  # values that say nothing


def html_page(report: Report) -> Iterator[str]:
    """Yield the page in parts."""
    title = text(_shortened(report.title))
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{text(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n"
    )
    sections = [section for section in report.sections if section.told or list(section.filled)]
    if len(sections) > 1:
        yield _contents(sections)
    for section in sections:
        yield from _section(section)
    yield f"</main>\n<footer>Made by SCrawler, {text(utc(report.made_at))}</footer>\n</body>\n</html>\n"


def _contents(sections: Sequence[Section]) -> str:
    """Return links to the sections, the only ones of the page."""
    parts = (f'<li><a href="#{text(section.key)}">{text(section.title)}</a></li>' for section in sections)
    return f'<nav aria-label="Contents">\n<ul>{"".join(parts)}</ul>\n</nav>\n'


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{text(section.key)}">\n<h2>{text(section.title)}</h2>\n'
    if section.told:
        pairs = (
            f"<dt>{text(section.label(name))}</dt><dd>{_cell(name, value)}</dd>" for name, value in section.told.items()
        )
        yield f"<dl>{''.join(pairs)}</dl>\n"
    for table in section.filled:
        if _has_plot(table):
            yield _plot(section.key, table) + "\n"
        yield from _table(table)
    yield "</section>\n"


def _has_plot(table: Table) -> bool:
    """Tell whether there is something to compare: a single bar says nothing that its number does not."""
    return bool(table.plot) and len(table.rows) > 1


def _plot(section: str, table: Table) -> str:
    if table.plot == STACKED:
        return _stacked(section, table)
    at = table.columns.index(table.plot)
    points = [
        (name, float(row[at]), shown(table.plot, row[at])) for name, row in zip(_names(table), table.rows, strict=True)
    ][: None if table.ordered else _BARS]
    draw = columns if table.ordered else bars
    what = table.label(table.plot)
    title = table.title if what.lower() in table.title.lower() else f"{table.title}: {what}"
    drawn = draw(f"{section}-{table.key}", title, points)
    return f"<figure>\n<figcaption>{text(title)}</figcaption>\n{drawn}\n</figure>"


def _stacked(section: str, table: Table) -> str:
    parts = [(table.label(name), [float(row[at]) for row in table.rows]) for at, name in enumerate(table.columns) if at]
    drawn = stacks(f"{section}-{table.key}", table.title, _names(table), parts)
    keys = (f'<span class="{shade(number)}">{text(name)}</span>' for number, (name, _) in enumerate(parts))
    title = f"<figcaption>{text(table.title)}</figcaption>"
    return f'<figure>\n{title}\n{drawn}\n<div class="legend">{"".join(keys)}</div>\n</figure>'


def _names(table: Table) -> list[str]:
    """Return what stands at the bars of a plot; of times no more than tells them apart."""
    name = table.columns[0]
    if not name.endswith("_at"):
        return [shown(name, row[0]) for row in table.rows]
    times = [row[0] for row in table.rows]
    return short_times(times)


def _table(table: Table) -> Iterator[str]:
    has_plot = _has_plot(table)
    if len(table.rows) <= (_OPEN_WITH_PLOT if has_plot else _OPEN_ROWS):
        yield from _open_table(table)
        return
    title = f"{len(table.rows):,} rows" if has_plot else text(table.title)
    yield f"<details>\n<summary>{title}</summary>\n"
    yield from _open_table(table)
    yield "</details>\n"


def _open_table(table: Table) -> Iterator[str]:
    # A column in which no row says anything is left out.
    said = [at for at in range(len(table.columns)) if any(row[at] not in _NOTHING for row in table.rows)]
    kinds = {at: _kind(table, at) for at in said}
    heads = (f'<th scope="col"{kinds[at]}>{text(table.label(table.columns[at]))}</th>' for at in said)
    again = _has_plot(table) or len(table.rows) > _OPEN_ROWS  # what stands above has the same title
    caption = f"<caption{_AGAIN * again}>{text(table.title)}</caption>"
    is_list = sum(kind == _LONG_CELL for kind in kinds.values()) > 1
    # What is wider than the page scrolls by itself; it can be reached by the keyboard, so it has a name.
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{text(table.title)}">\n'
    yield f"<table{_ROWS * is_list}>\n{caption}\n<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n"
    names = {at: f' data-name="{text(table.label(table.columns[at]))}"' * is_list for at in said}
    for row in table.rows:
        values = {at: "" if is_list and row[at] in _NOTHING else _cell(table.columns[at], row[at]) for at in said}
        yield f"<tr>{''.join(f'<td{kinds[at]}{names[at]}>{value}</td>' for at, value in values.items())}</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def _kind(table: Table, at: int) -> str:
    """Return what kind of values a column has, as a class: numbers, but for names and times, stand at the right."""
    name = table.columns[at]
    values = [row[at] for row in table.rows if row[at] not in _NOTHING]
    if values and all(isinstance(value, int | float) for value in values):
        is_name = name in _NAMES or name.endswith("_at")
        return ' class="few"' if is_name else ' class="few number"'
    return _LONG_CELL if any(len(str(value)) >= _LONG for value in values) else ' class="few"'


def _cell(name: str, value: Any) -> str:
    lines = shown(name, value).split("\n")
    return text("\n".join(map(_shortened, lines)))


def _shortened(line: str) -> str:
    """Return a line, of a very long one its begin and its end."""
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _END]} … {line[-_END:]}"
