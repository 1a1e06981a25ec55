"""The entry point: the command group, and the one place where errors become exit codes."""

from __future__ import annotations

import errno
import gc
import sys
from typing import Any, cast

import click

from scrawler import __version__
from scrawler.cli.lines import one_line
from scrawler.cli.streams import make_streams_usable
from scrawler.compiled import compiled_part, outdated_parts
from scrawler.errors import ScrawlerError
from scrawler.references import load_object

STOPPED_BY_USER = 130
_SCANNER = "scrawler.extract._linkscan"
_BUILD = "`python setup.py build_ext --inplace`"

_COMMANDS = {
    "import": "scrawler.cli.import_seeds:import_seeds_command",
    "plan": "scrawler.cli.plan:plan",
    "run": "scrawler.cli.run:run",
    "export": "scrawler.cli.export:export",
    "pause": "scrawler.cli.pause:pause",
    "resume": "scrawler.cli.resume:resume",
    "stop": "scrawler.cli.stop:stop",
    "set": "scrawler.cli.set_live:set_live",
    "machines": "scrawler.cli.machines:machines",
    "status": "scrawler.cli.status:status",
    "seeds": "scrawler.cli.seeds:seeds",
    "pages": "scrawler.cli.pages:pages",
    "why": "scrawler.cli.why:why_command",
    "report": "scrawler.cli.report:report",
    "verify": "scrawler.cli.verify:verify",
    "db": "scrawler.cli.db:db",
    "plugins": "scrawler.cli.plugins:plugins",
    "synthweb": "scrawler.cli.synthweb:synthweb",
}

# These commands only list things: a reader who has seen enough (`| head`) is no error.
_LISTING = frozenset(("plan", "export", "machines", "status", "seeds", "pages", "why", "report", "db", "plugins"))
_TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}
_UNUSABLE_NAME = {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS}

_EPILOG = """\b
Exit codes:
    0  done
    1  any other error, or a machine was given up (`run --machines N`)
    2  a setting or the usage is wrong, or a plug-in fails
    3  a seed file cannot be read or holds no usable seed
    4  the database cannot be opened or refuses, or has no such machine
    5  pages cannot be written to the archive
    6  `run` waited for the database for longer than database_patience
    7  records are gone from the archive (`run` says so once, having done all else), or `verify` found anything
    8  `run` met a page that was read without an end (page_time); the next run ends that page
  130  stopped by the user (for `run`: by a second Ctrl-C)

\b
Settings come from scrawler.toml in the current folder, SCRAWLER_* variables
and flags, in rising precedence: threads = 20, SCRAWLER_THREADS=20, --threads 20.
A TIME is 90, 90s, 5m or 2h; a SIZE is 500000, 32MiB or 1GB.
"""


class _Commands(click.Group):
    """The commands in the order of a crawl; each is imported when it is called, or listed with its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        reference = _COMMANDS.get(cmd_name)
        return None if reference is None else _loaded(reference)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; here and not around it, because click ends the program by itself for a closed pipe."""
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done
        except BrokenPipeError:
            return 0 if ctx.invoked_subcommand in _LISTING else 1
        except OSError as error:
            if error.errno in _TOO_MANY_FILES:
                raise ScrawlerError(f"{error.strerror}: raise what a process may open (ulimit -n)") from error
            if error.errno in _UNUSABLE_NAME and isinstance(error.filename, str):
                raise ScrawlerError(f"{error.filename}: {error.strerror}") from error
            raise


def _loaded(reference: str) -> click.Command:
    """Import a command. What it loads stays: to look it through for garbage takes a tenth of the time."""
    gc.disable()
    try:
        return cast(click.Command, load_object(reference))
    finally:
        gc.freeze()
        gc.enable()


def _link_finder(outdated: list[str]) -> str:
    if compiled_part(_SCANNER) is not None:
        return "the compiled scanner"
    return f"Lexbor: the scanner is {'out of date' if _SCANNER in outdated else 'not compiled'}"


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        outdated = outdated_parts()
        click.echo(f"scrawler {__version__} (links by {_link_finder(outdated)})")
        if outdated:
            click.echo(f"out of date and not used: {', '.join(outdated)}; in the source's folder, {_BUILD} builds anew")
        ctx.exit()


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the version, and whether the link scanner is compiled.",
)  # fmt: skip
def scrawler() -> None:
    """Crawl, for each seed of a list, all pages that are reachable from it inside its own site."""


def _told(error: click.ClickException) -> str:
    """Say what click does not understand, how the command is used, and where there is more help."""
    line = f"scrawler: error: {one_line(' '.join(error.format_message().split()))}"
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return line
    if error.message == context.get_help():  # click answers so where a group was given no command
        return error.message
    return f"{context.get_usage()}\n{line.rstrip('.')}; see `{context.command_path} --help`"


def main() -> None:
    """Run the command line; errors for users become one line on standard error and an exit code.

    Above the line of a wrong usage stands how the command is used.
    """
    make_streams_usable()
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
