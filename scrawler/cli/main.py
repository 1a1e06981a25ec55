"""The entry point: the command group, and the one place where errors become exit codes."""

from __future__ import annotations

import atexit
import errno
import os
import struct
import sys
import threading
import traceback
import zlib
from contextlib import suppress
from typing import Any, NoReturn, cast

import click

from scrawler import __version__
from scrawler.cli.ending import heed_signals
from scrawler.cli.lines import one_line
from scrawler.cli.streams import make_streams_usable
from scrawler.compiled import compiled_modules, compiled_part, outdated_parts
from scrawler.errors import ScrawlerError
from scrawler.feature import Command, feature_commands
from scrawler.references import load_for_good, load_object

STOPPED_BY_USER = 130
_SCANNER = "scrawler.extract._linkscan"
_WIDEST = 12  # letters of the longest name of a command
_BUILD = "`python setup.py build_ext --inplace`"

_COMMANDS = {  # of the crawler; features declare their own
    "import": Command("scrawler.cli.import_seeds:import_seeds_command"),
    "run": Command("scrawler.cli.run:run", lasts=True),
    "crawl": Command("scrawler.cli.crawl:crawl", lasts=True),
    "export": Command("scrawler.cli.export:export", lists=True),
    "pause": Command("scrawler.cli.pause:pause"),
    "resume": Command("scrawler.cli.resume:resume"),
    "stop": Command("scrawler.cli.stop:stop"),
    "set": Command("scrawler.cli.set_live:set_live"),
    "machines": Command("scrawler.cli.machines:machines", lists=True),
    "status": Command("scrawler.cli.status:status", lists=True),
    "seeds": Command("scrawler.cli.seeds:seeds", lists=True),
    "pages": Command("scrawler.cli.pages:pages", lists=True),
    "cat": Command("scrawler.cli.cat:cat", lists=True),
    "why": Command("scrawler.cli.why:why_command", lists=True),
    "verify": Command("scrawler.cli.verify:verify"),
    "db": Command("scrawler.cli.db:db", lists=True),
    "plugins": Command("scrawler.cli.plugins:plugins", lists=True),
    "completion": Command("scrawler.cli.completion:completion", lists=True),
}

_TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}
_UNUSABLE_NAME = {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS}

# What a value raises that no database of ours holds, and that no check of it has met.
_ODD = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, struct.error, zlib.error)
_PACKAGE = f"{os.sep}scrawler{os.sep}"

_EPILOG = """\b
Exit codes:
    0  done
    1  any other error, or a machine was given up (`run --machines N`), or `broken` found
       anything or could not check it
    2  a setting or the usage is wrong, a plug-in fails, or another program's scrawler is installed as well
    3  a seed file cannot be read or holds no usable seed
    4  the database cannot be opened or refuses, or has no such machine
    5  pages cannot be written to the archive, or a file of it cannot be read
    6  `run` waited for the database for longer than database_patience
    7  records are gone from the archive (`run` says so once, having done all else), or `verify` found anything
    8  `run` met a page that was read without an end (page_time); the next run ends that page; `cat`: the text of
       a page takes more CPU time
    9  `cat`: the crawl has no such page, or none with a record, or with text; `rank`: it kept no out-links
   10  `run --fail-if no-page`: no seed brought a page
  130  stopped by the user (for `run`: by a second Ctrl-C)

\b
Settings come from scrawler.toml in the current folder, SCRAWLER_* variables
and flags, in rising precedence: threads = 20, SCRAWLER_THREADS=20, --threads 20.
A TIME is 90, 90s, 5m or 2h; a SIZE is 500000, 32MiB or 1GB.
"""


def _command(name: str) -> Command | None:
    own = _COMMANDS.get(name)
    return own if own is not None else feature_commands().get(name)


def _invoked(context: click.Context) -> Command:
    """Return the command that is called; a group without a command only shows its help."""
    found = _command(context.invoked_subcommand or "")
    return Command("", lists=True) if found is None else found


class _Commands(click.Group):
    """The commands in the order of a crawl; each is imported when it is called, or listed with its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *feature_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = _command(cmd_name)
        return None if command is None else cast(click.Command, load_for_good(command.reference))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the crawler's own commands, and then those of features."""
        for title, names in (("Commands", _COMMANDS), ("Commands of features", feature_commands())):
            if not names:
                continue
            with formatter.section(title):
                formatter.write_dl([(name, self._in_short(ctx, name)) for name in names])

    def _in_short(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(limit=110 - 6 - _WIDEST)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises click.UsageError, which names those that are written nearly so."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # loaded for a wrong name alone

            alike = get_close_matches(args[0], self.list_commands(ctx), cutoff=0.7)
            if not alike:
                raise
            message = f"{error.message.rstrip('.')}; did you mean {' or '.join(alike)}?"
            raise click.UsageError(message, ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; here and not around it, because click ends the program by itself for a closed pipe."""
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except BrokenPipeError:
            return 0 if _invoked(ctx).lists else 1
        except OSError as error:
            if error.errno in _TOO_MANY_FILES:
                raise ScrawlerError(f"{error.strerror}: raise what a process may open (ulimit -n)") from error
            if error.errno in _UNUSABLE_NAME and isinstance(error.filename, str):
                raise ScrawlerError(f"{error.filename}: {error.strerror}") from error
            raise
        except _ODD as error:
            if sys.flags.dev_mode or _invoked(ctx).lasts:
                raise
            raise ScrawlerError(_odd(error)) from error


def _link_finder(outdated: list[str]) -> str:
    if compiled_part(_SCANNER) is not None:
        return "the compiled scanner"
    return f"Lexbor: the scanner is {'out of date' if _SCANNER in outdated else 'not compiled'}"


def _form() -> str:
    number = len(compiled_modules())
    return f"{number} modules compiled by mypyc" if number else "the hot path in Python"


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        outdated = outdated_parts()
        click.echo(f"scrawler {__version__} (links by {_link_finder(outdated)}; {_form()})")
        if outdated:
            click.echo(f"out of date and not used: {', '.join(outdated)}; in the source's folder, {_BUILD} builds anew")
        ctx.exit()


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the version, and what is compiled.",
)  # fmt: skip
def scrawler() -> None:
    """Crawl, for each seed of a list, all pages that are reachable from it inside its own site."""


def _of_one_host(error: click.ClickException) -> str:
    """Say where a setting stands that has no flag; empty for another error."""
    if not isinstance(error, click.NoSuchOption):
        return ""
    key = error.option_name.removeprefix("--").replace("-", "_")
    if key not in cast("tuple[str, ...]", load_object("scrawler.settings:HOST_ONLY")):  # its command has loaded that
        return ""
    return f'No such option {error.option_name!r}: {key} is for one host, in scrawler.toml under [sites."example.org"]'


def _told(error: click.ClickException) -> str:
    """Say what click does not understand, how the command is used, and where there is more help."""
    message = _of_one_host(error) or error.format_message()
    line = f"scrawler: error: {one_line(' '.join(message.split()))}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return line
    usage = context.get_usage()
    if error.message.startswith(usage):  # click answers with the help where a group was given no command
        return error.message
    return f"{usage}\n{line.rstrip('.')}; see `{context.command_path} --help`"


def _odd(error: BaseException) -> str:
    """Say what met a value that it cannot handle: mostly one of a database that is damaged, or somebody else's."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in frame.filename]
    place = f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    return (
        f"a value is not what it should be ({type(error).__name__}: {error}{place}): the database may be damaged;"
        " `python -X dev -m scrawler` and the same words show more, for a report of a fault"
    )


def main() -> NoReturn:
    """Run the command line; errors for users become one line on standard error and an exit code.

    It ends with SystemExit. Above the line of a wrong usage stands how the command is used.
    """
    make_streams_usable()
    heed_signals()
    try:
        code = scrawler.main(standalone_mode=False)
        sys.stdout.flush()  # --help and --version write without running a command
    except ScrawlerError as error:
        click.echo(f"scrawler: error: {one_line(str(error))}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(_told(error), err=True)
        sys.exit(error.exit_code)
    except click.Abort:  # click raises this for a Ctrl-C
        sys.exit(STOPPED_BY_USER)
    sys.exit(code if isinstance(code, int) else 0)


def program() -> NoReturn:
    """Run the command line, and nothing behind it: what the script `scrawler` does."""
    try:
        main()
    except SystemExit as end:
        _end(end.code if isinstance(end.code, int) else 0)


def _end(code: int) -> NoReturn:
    """End the program; where nothing else of it runs, objects are not taken apart first, one by one, for nobody.

    A profiler or a debugger goes on behind us, and a plug-in may have files open that Python is to close.
    """
    plugins = sys.modules.get("scrawler.plugins")
    is_alone = threading.active_count() == 1 and not (plugins is not None and plugins.others_run())
    if is_alone and sys.getprofile() is None and sys.gettrace() is None:
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError, ScrawlerError):  # what cannot be written is told at a usual end
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)
