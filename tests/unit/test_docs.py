"""What the documentation says is what the program does: tables, words, names of functions, and the README's length."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import click
import pytest

from docsite.places import GENERATED, filled, pages, places
from scrawler.cli.main import scrawler
from scrawler.cli.run import run
from scrawler.errors import ScrawlerError
from scrawler.insight import answer
from scrawler.insight.results import flag_names
from scrawler.model.results import NO_ERROR, TRIED_AGAIN, PageFlag, Result
from scrawler.model.seeds import EndReason
from scrawler.settings import HOST_ONLY, SETTING_NAMES, flag_name, load_settings, setting_field
from scrawler.store.lists.retries import RETRYABLE
from scrawler.urls.verdict import Verdict
from tests.limits import HANGS
from tests.tables import each

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README_LINES = 150
_LINES = re.MULTILINE | re.DOTALL


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _between(page: str, mark: str) -> str:
    return places(_read(DOCS / page))[mark]


def _first_column(page: str, mark: str) -> list[str]:
    return re.findall(r"^\| (`.*?`(?: \*)?) \|", _between(page, mark), re.MULTILINE)


def _starred(names: Iterable[str], starred: Iterable[str]) -> set[str]:
    marked = set(starred)
    return {f"`{name}` *" if name in marked else f"`{name}`" for name in names}


@each("path", pages())
def test_what_is_generated_is_what_the_program_says(path: Path) -> None:
    text = _read(path)
    assert filled(text) == text, "`make reference` writes it anew"


def test_all_that_is_generated_has_its_place_once() -> None:
    found = [name for path in pages() for name in places(_read(path))]
    assert sorted(name for name in found if name in GENERATED) == sorted(GENERATED)


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("end reasons", _starred(EndReason, RETRYABLE)),
        ("results", _starred(Result, TRIED_AGAIN)),
        ("verdicts", _starred(Verdict, ())),
        ("outcomes", _starred((v for k, v in vars(answer).items() if k.isupper() and isinstance(v, str)), ())),
    ],
    ids=("end-reasons", "results", "verdicts", "outcomes"),
)
def test_the_reference_tells_what_each_reason_means(mark: str, expected: set[str]) -> None:
    found = _first_column("reference/results.md", mark)
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_the_reference_lists_the_flags_of_pages() -> None:
    everything = sum(PageFlag)
    assert re.findall(r"`(.*?)`", _between("reference/results.md", "flags")) == flag_names(everything)


def test_the_reference_tells_which_results_are_no_errors() -> None:
    told = re.findall(r"`(.*?)`", _between("reference/results.md", "no errors"))
    assert told == [result.value for result in Result if result in NO_ERROR]


def test_the_reference_tells_the_exit_codes() -> None:
    codes = {kind.exit_code for kind in _family(ScrawlerError)}
    told = re.findall(r"^\| (\d+) \|", _between("reference/commands.md", "exit codes"), re.MULTILINE)
    assert set(map(int, told)) == codes | {0, 130}


def _family(kind: type[ScrawlerError]) -> set[type[ScrawlerError]]:
    return {kind}.union(*map(_family, kind.__subclasses__()))


def test_the_reference_tells_of_each_command_in_short() -> None:
    text = _read(DOCS / "reference/commands.md")
    table = text.partition("## In short")[2].partition("\n## ")[0]
    told = "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| "))
    assert [name for name in scrawler.list_commands(None) if not re.search(rf"`(scrawler )?{name}\b", told)] == []


def test_each_setting_says_in_words_what_it_does() -> None:
    assert [key for key in SETTING_NAMES if not setting_field(key).description] == []


def test_all_settings_have_a_flag_but_those_that_the_reference_names() -> None:
    flags = {name for parameter in run.params for name in parameter.opts}
    assert {key for key in SETTING_NAMES if flag_name(key) not in flags} - {"input_dir"} == set(HOST_ONLY)


def test_the_readme_is_short_and_what_it_links_to_is_there() -> None:
    text = _read(ROOT / "README.md")
    assert text.count("\n") <= README_LINES
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def _there(name: str) -> bool:
    """Tell whether a name below the package is that of a module, or of something in it."""
    parts = name.split(".")
    for number in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(("scrawler", *parts[:number])))
        except ModuleNotFoundError:
            continue
        return all((found := getattr(found, part, None)) is not None for part in parts[number:])
    return False


def test_all_functions_that_the_life_of_a_url_names_are_there() -> None:
    text = _read(DOCS / "internals/life-of-a-url.md")
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", text)
    assert len(names) > 50
    assert [name for name in names if name not in ("__init__.py",) and not _there(name)] == []
    assert not _there("core.nowhere.Nobody.does")


_SHOWN = re.compile(r"^(?:\$ )?(scrawler .*)$|`(scrawler [^`]*)`", re.MULTILINE)


def _flags_of(words: list[str]) -> tuple[str, list[str]]:
    """Return the command that a line calls, and its flags that the command does not know."""
    command: click.Command = scrawler
    while words and isinstance(command, click.Group) and words[0] in command.list_commands(None):  # type: ignore[arg-type]
        found = command.get_command(None, words.pop(0))  # type: ignore[arg-type]
        assert found is not None
        command = found
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    flags = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return command.name or "", [flag for flag in flags if flag not in known | {"--help", "-h"}]


@each("path", [*pages(), ROOT / "README.md"])
def test_all_commands_that_a_page_shows_are_there_with_their_flags(path: Path) -> None:
    if path.name == "write-a-feature.md":
        return  # its commands are those of its example, of which test_languages_example makes sure
    text = re.sub(r"<!-- commands.*?<!-- /commands -->", "", _read(path), flags=re.DOTALL)
    for shown in filter(None, (line for pair in _SHOWN.findall(text.replace("\\\n", " ")) for line in pair)):
        call = re.split(r" [|&;<>#]| 2>|\.\.\.|…", re.sub(r"\$\(.*?\)", "", shown))[0]
        name, unknown = _flags_of(call.replace("'", "").replace('"', "").split()[1:])
        assert not unknown, f"{shown}: {name} has no {', '.join(unknown)}"
        assert name != "scrawler" or call.split()[1:2] in ([], ["--help"], ["--version"], ["COMMAND"]), shown


@pytest.mark.parametrize("unit", sorted((ROOT / "contrib/systemd").glob("*.service")), ids=lambda path: path.name)
def test_services_are_units_that_start_commands_with_their_flags(unit: Path, tmp_path: Path) -> None:
    text = _read(unit)
    program = "/usr/local/bin/scrawler"
    (call,) = re.findall(rf"^ExecStart={program} (.*)$", text, re.MULTILINE)
    name, unknown = _flags_of(call.split())
    assert name != "scrawler"
    assert unknown == []
    if shutil.which("systemd-analyze") is None:
        return
    installed = tmp_path / unit.name
    installed.write_text(text.replace(program, sys.executable))  # it looks whether the program is there
    done = subprocess.run(["systemd-analyze", "verify", installed], capture_output=True, text=True, timeout=HANGS)
    assert [line for line in done.stderr.splitlines() if unit.name in line] == []


@pytest.mark.parametrize("timer", sorted((ROOT / "contrib/systemd").glob("*.timer")), ids=lambda path: path.name)
def test_timers_are_units_beside_the_services_that_they_begin(timer: Path) -> None:
    assert timer.with_suffix(".service").exists()
    if shutil.which("systemd-analyze") is None:
        return
    (when,) = re.findall(r"^OnCalendar=(.*)$", _read(timer), re.MULTILINE)
    for given in (["verify", timer], ["calendar", when]):
        done = subprocess.run(["systemd-analyze", *given], capture_output=True, text=True, timeout=HANGS)
        assert [line for line in done.stderr.splitlines() if timer.name in line or when in line] == []


def _tables_of_settings() -> list[tuple[str, str]]:
    blocks = [
        (path.stem, text) for path in pages() for text in re.findall(r"^```toml\n(.*?)^```$", _read(path), _LINES)
    ]
    return [(name, text) for name, text in blocks if "[project]" not in text]


@pytest.mark.parametrize(("name", "text"), _tables_of_settings())
def test_settings_files_that_pages_show_can_be_read(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "scrawler.toml"
    file.write_text(text)
    load_settings({}, file)


def test_all_extras_stand_where_it_is_told_how_to_install_them() -> None:
    asked = _read(ROOT / "setup.py").partition("extras_require={")[2].partition("}")[0]
    extras = re.findall(r'"(\w+)":', asked)
    assert len(extras) > 5
    told = re.findall(r"'\.\[(\w+)\]'", _read(DOCS / "how-to/install.md"))
    assert sorted(told) == sorted(extras)
