r"""Manual pages out of the help: `python -m scrawler.cli.manual FOLDER` writes scrawler.1, scrawler-run.1 and so on.

The help is written by click as ever, but by a formatter that makes roff of it (man(7)): so nothing is said twice. A
backslash is \e there, a minus that can be copied \-, and no line of text begins with a dot or a quote.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from scrawler import __version__
from scrawler.cli.main import scrawler

_LONG = 1_000  # characters: what man shows is broken into lines by man
_AS_IT_STANDS = "\b"  # click keeps the lines of a paragraph that begins with it


class _Roff(click.HelpFormatter):
    """Writes what a command says of itself as a manual page's source."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.write(f".B {_text(prog)}\n{_line(args)}\n")

    def write_heading(self, heading: str) -> None:
        self.write(f".SS {_text(heading)}\n")

    def write_paragraph(self) -> None:
        """Leave it to what follows: the first paragraph of a section needs none."""

    def write_text(self, text: str) -> None:
        for number, paragraph in enumerate(text.split("\n\n")):
            kept = paragraph.lstrip("\n").startswith(_AS_IT_STANDS)
            lines = paragraph.replace(_AS_IT_STANDS, "").strip("\n").split("\n")
            self.write(".PP\n" if number else "")
            if kept:
                self.write(".nf\n" + "".join(f"{_line(line)}\n" for line in lines) + ".fi\n")
            else:
                self.write(f"{_line(' '.join(line.strip() for line in lines))}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        for first, second in rows:
            self.write(f".TP\n.B {_text(first)}\n{_line(' '.join(second.split()))}\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_heading(name)
        yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        yield


def _text(words: str) -> str:
    return words.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")


def _line(words: str) -> str:
    written = _text(words)
    return f"\\&{written}" if written.startswith((".", "'")) else written


def pages() -> Iterator[tuple[str, str]]:
    """Yield all manual pages: the name of the file, and its source."""
    root = click.Context(scrawler, info_name="scrawler")
    yield "scrawler.1", _page(root)
    yield from _pages_below(root)


def _pages_below(context: click.Context) -> Iterator[tuple[str, str]]:
    group = context.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            inner = click.Context(command, info_name=name, parent=context)
            yield f"{inner.command_path.replace(' ', '-')}.1", _page(inner)
            yield from _pages_below(inner)


def _page(context: click.Context) -> str:
    command, out = context.command, _Roff(width=_LONG, max_width=_LONG)
    name = context.command_path.replace(" ", "-")
    out.write(f'.TH "{_text(name.upper())}" "1" "{_today()}" "SCrawler {__version__}" "SCrawler"\n')
    out.write(
        f".SH NAME\n{_text(name)} \\- {_text(command.get_short_help_str(limit=_LONG).rstrip('.'))}\n.SH SYNOPSIS\n"
    )
    command.format_usage(context, out)
    out.write(".SH DESCRIPTION\n")
    command.format_help_text(context, out)
    out.write(".SH OPTIONS\n")
    command.format_options(context, out)
    if command.epilog:
        out.write(".SH NOTES\n")
        command.format_epilog(context, out)
    out.write(f".SH SEE ALSO\n{_see_also(context)}\n")
    return out.getvalue()


def _today() -> str:
    """Return the date of the pages; builds that are to come out the same each time say which (SOURCE_DATE_EPOCH)."""
    return datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), UTC).date().isoformat()


def _see_also(context: click.Context) -> str:
    above = ["scrawler"] if context.parent else []
    names = context.command.list_commands(context) if isinstance(context.command, click.Group) else []
    below = [f"{context.command_path} {name}".replace(" ", "-") for name in names]
    return " (1),\n".join(f".BR {_text(name)}" for name in (*above, *below)) + " (1)"


def main() -> None:
    """Write all pages to the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in pages():
        (folder / name).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()
