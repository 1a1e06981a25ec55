"""`scrawler crawl`: seeds in, pages or items out, in one go and in a folder of its own."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from scrawler.api.crawl import Crawl
from scrawler.cli.database import opened
from scrawler.cli.export import write_export
from scrawler.cli.log import LogOptions, with_log
from scrawler.cli.options import FILLED, FileName, InGroups, with_settings
from scrawler.cli.progress import import_text
from scrawler.cli.run import RUN_SETTINGS, RunOptions, TakeOutput, run_and_tell, with_run_options
from scrawler.core.progress import RunSummary
from scrawler.errors import InputError, SettingsError
from scrawler.feature import hooked
from scrawler.seeds.exporter import UrlKind
from scrawler.seeds.files import STANDARD, Format, find_input, is_input, written_as
from scrawler.seeds.importer import ImportCounts
from scrawler.seeds.rejects import open_rejects
from scrawler.seeds.table_files import arrow
from scrawler.settings import Settings, make_settings
from scrawler.urls.normalise import HTTP_SCHEMES, seed_url

_DATABASE = "scrawler.db"
_PLACES = {"pages_dir": "pages", "output_dir": "output_urls"}  # in the folder of a crawl
_SEED_FILES = (".txt", ".csv", ".jsonl", ".ndjson", ".gz", ".zst")
_SECRET_FLAGS = ("--db", "--header", "--proxy")  # what they are given is not to be shown


@click.command(cls=InGroups)
@click.argument("seeds", nargs=-1, required=True, type=FILLED, metavar="SEED...")
@click.option(
    "-o",
    "--output",
    type=FILLED,
    metavar="FILE",
    help="Write what was crawled to this file: the items of --page-processors, where there are any and no --items,"
    " else the pages; .jsonl, .csv, .parquet, and of pages .txt.",
)
@click.option(
    "--folder",
    type=FileName(file_okay=False, path_type=Path),
    help="Where the crawl is kept. [default: by the host of the first seed]",
)
@with_run_options
@with_settings("input_dir", *RUN_SETTINGS)
@with_log
def crawl(
    settings: Settings,
    seeds: tuple[str, ...],
    output: str | None,
    folder: Path | None,
    options: RunOptions,
    log: LogOptions,
) -> None:
    """Crawl the sites of some seeds in one go: import them, run, export.

    A SEED is a URL, or a file as `scrawler import` reads it. The crawl has a folder of its own, named after the host of
    the first seed, for its database and its archive: typed again, the same command goes on there, and in that folder
    all other commands know the crawl. --db, --pages-dir and --output-dir, where they are given, hold as ever.

    -o writes the pages (one line each: URL, result, status, type, length, ...), and, when a crawl is stopped, those
    that there are. Where --page-processors make items, -o is where these go. Without it, seeds and candidate seeds are
    exported, as `scrawler run` does it.
    """
    files, urls = _sorted(seeds)
    for file in files:
        if file != STANDARD:
            find_input(file, settings.input_dir)  # before a folder is made for it
    taken = None if output is None else _taken(settings, output, options.given)
    if taken is not None:
        options = replace(options, given=taken)
    elif output is not None and output != STANDARD:
        _check_output(output, files, settings)
    home = folder or Path(_folder_name(seeds[0], urls))
    settings = _placed(settings, home)
    with opened(settings, Crawl, create=True) as there:
        if output is not None and output != STANDARD and taken is None:
            there.keep_clear(output)
        counts = _imported(there, files, urls)
    if not log.quiet:
        click.echo(f"{import_text(counts)}; the crawl is in {home}", err=True)
    goes_on = _goes_on()

    def finish(summary: RunSummary) -> None:
        if summary.outcome == "ended" or (output is not None and taken is None):
            with opened(settings, Crawl) as done:
                only = UrlKind.PAGE.value if output is not None and taken is None else None
                write_export(done, None if taken is not None else output, only=only, quiet=log.quiet)
        if summary.outcome != "ended" and not log.quiet:
            click.echo(f"stopped before its end; {goes_on}", err=True)

    run_and_tell(settings, options, log, finish, keeps_output=output == STANDARD)


def _taken(settings: Settings, output: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the options with which a feature writes the output; None where none does. Raises SettingsError."""
    takers: Iterator[TakeOutput] = hooked("output", settings)
    return next((taken for take in takers if (taken := take(settings, output, given)) is not None), None)


def _sorted(seeds: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which seeds are files, and which are URLs. Raises InputError for what is neither."""
    files: list[str] = []
    urls: list[str] = []
    for one in seeds:
        is_url = one.lower().startswith(HTTP_SCHEMES)
        if one == STANDARD or (not is_url and (one.lower().endswith(_SEED_FILES) or _is_file(one))):
            files.append(one)  # what reads it says whether it is there
        elif problem := seed_url(one).problem:
            raise InputError(f"{one}: {'no URL' if is_url else 'neither a file nor a URL'}: {problem}")
        else:
            urls.append(one)
    return files, urls


def _is_file(name: str) -> bool:
    """Tell whether there is such a file, or pipe; a folder may be that of the crawl of a host which is named so."""
    path = Path(name)
    return path.exists() and not path.is_dir()


def _folder_name(first: str, urls: Sequence[str]) -> str:
    """Return a name for the folder of a crawl: the host of its first seed, or that of its seed file."""
    if first == STANDARD:
        return "crawl"
    if first not in urls:
        return Path(first).name.partition(".")[0] or "crawl"
    parts = urlsplit(seed_url(first).url)
    host = (parts.hostname or "crawl").replace(":", "_")
    return f"{host}_{parts.port}" if parts.port else host


def _placed(settings: Settings, folder: Path) -> Settings:
    """Return the settings with all files in a folder, which is made. Raises SettingsError."""
    given = settings.model_fields_set
    place = folder.absolute()
    is_free = not place.exists() or (place.is_dir() and not any(place.iterdir()))
    if "db" not in given and not is_free and not (place / _DATABASE).exists():
        raise SettingsError(f"{folder} is there, and holds no crawl: --folder FOLDER names another place")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{folder}: {error.strerror}; --folder FOLDER names another place") from error
    changes: dict[str, object] = {key: place / name for key, name in _PLACES.items() if key not in given}
    if "db" not in given:
        changes["db"] = f"sqlite:///{place / _DATABASE}"
    return make_settings(changes, settings)


def _check_output(name: str, files: Sequence[str], settings: Settings) -> None:
    """Check before the crawl that a file can be written when it is over. Raises SettingsError."""
    if written_as(name) is Format.PARQUET:
        arrow()
    if Path(name).is_dir() or not Path(name).absolute().parent.is_dir():
        raise SettingsError(f"-o {name}: there is no such folder, or it is the name of one")
    if any(is_input(Path(name), file, settings.input_dir) for file in files):
        raise SettingsError(f"-o {name} is the seed file itself, and would be overwritten")


def _imported(there: Crawl, files: Sequence[str], urls: Sequence[str]) -> ImportCounts:
    """Import the seeds of all files, and the URLs. Raises InputError."""
    counts = ImportCounts()
    with open_rejects(None, partial(click.echo, err=True)) as report:
        for source in [*files, *([urls] if urls else [])]:
            found = there.add(Path(source) if isinstance(source, str) else source, on_invalid=report)
            counts = ImportCounts(
                counts.new + found.new, counts.duplicate + found.duplicate, counts.invalid + found.invalid
            )
    return counts


def _goes_on() -> str:
    """Say how a crawl that was stopped goes on, without what a secret may stand in."""
    words = sys.argv[1:]
    if any(word.startswith(_SECRET_FLAGS) for word in words):
        return "the same command goes on"
    return f"to go on: scrawler {shlex.join(words)}"
