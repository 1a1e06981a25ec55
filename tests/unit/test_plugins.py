"""The parts that settings choose: ours, and those of packages, which may be bad ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import is_protocol

from scrawler.core.seen import MemoryBudget
from scrawler.errors import PluginError, SettingsError
from scrawler.extract.scanner import COMPILED
from scrawler.fetch.downloader import FetchLimits
from scrawler.plugins import is_part, part_maker, parts
from scrawler.references import load_object
from scrawler.settings import PART_KINDS, SETTING_NAMES, load_settings, part_kind, setting_choices
from tests.limits import HANGS
from tests.plugged import importable, install

KINDS = PART_KINDS.values()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose packages are installed."""
    monkeypatch.chdir(tmp_path)
    with importable(tmp_path):
        yield tmp_path


def test_each_kind_of_parts_has_a_setting() -> None:
    chosen = {key: kind for key in SETTING_NAMES if (kind := part_kind(key))}
    assert chosen == PART_KINDS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.setting)
def test_every_part_that_can_be_chosen_is_there(kind: object) -> None:
    assert setting_choices(kind.setting) == tuple(kind.ours())
    assert all(callable(load_object(reference)) for reference in kind.ours().values())
    interface = load_object(kind.interface)
    assert is_protocol(interface)
    for made in (one for one in map(load_object, kind.ours().values()) if isinstance(one, type)):
        assert {name for name in vars(interface) if not name.startswith("_")} <= set(dir(made))
    assert [part.name for part in parts(kind)][: len(kind.ours())] == list(kind.ours())


@pytest.mark.parametrize(
    ("before", "extractor", "said"),
    [
        ("", "ScannerExtractor", "links by the compiled scanner"),
        ("sys.modules['scrawler.extract._linkscan'] = None", "LexborExtractor", "the scanner is not compiled"),
    ],
    ids=["compiled", "not"],
)
def test_lexbor_stands_in_for_a_scanner_that_is_not_compiled(before: str, extractor: str, said: str) -> None:
    if not before and COMPILED is None:
        pytest.skip("the link scanner is not compiled: python setup.py build_ext --inplace")
    code = f"""import sys
{before}
from scrawler.cli.main import main
from scrawler.extract.scanner import fastest_extractor
print(type(fastest_extractor()).__name__)
sys.argv = ["scrawler", "--version"]
main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS)
    assert done.stdout.startswith(f"{extractor}\nscrawler ")
    assert said in done.stdout


# What a command that reads a few tables has no use for: each of these takes a part of its start.
_DIALECTS = tuple(f"sqlalchemy.dialects.{name}" for name in ("mysql", "postgresql", "sqlite"))
_OF_PAGES = ("scrawler.app", "scrawler.archive", "scrawler.core", "scrawler.extract", "scrawler.fetch", *_DIALECTS)


_OF_FEATURES = "scrawler.features.report.cli, scrawler.features.broken.cli"


def _modules(*commands: str) -> str:
    return ", ".join(f"scrawler.cli.{command}" for command in commands)


@pytest.mark.parametrize(
    ("module", "unused"),
    [
        ("scrawler.cli.main", ("sqlalchemy", "pydantic", "requests", "tqdm", "importlib.metadata")),
        ("scrawler.cli.run", ("requests", "html5lib", "tqdm")),
        (_modules("seeds", "pages", "machines", "set_live", "db"), _OF_PAGES),
        (_modules("status", "import_seeds", "export"), ("scrawler.app", "scrawler.extract", *_DIALECTS)),
        (
            f"{_modules('why')}, scrawler.features.report.cli, scrawler.features.broken.cli",
            ("scrawler.app", "scrawler.supervisor.supervisor", *_DIALECTS),
        ),
    ],
)
def test_nothing_is_imported_that_is_not_used(module: str, unused: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANGS)
    assert set(done.stdout.split()).isdisjoint(unused)


def test_our_own_parts_are_found_without_a_look_at_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise AssertionError("the metadata of all packages was read")

    monkeypatch.setattr("importlib.metadata.entry_points", refuse)
    load_settings({"profile": "classic", "distribution": "free", "archive": "warc"})
    for kind in KINDS:
        assert all(callable(part_maker(kind, name)) for name in kind.ours())


def test_a_part_of_another_package_is_found_made_and_used(place: Path) -> None:
    code = "from scrawler.core.seen import ExactSeen\ndef make(budget): return ExactSeen(budget)\n"
    install(place, "their-filter", code, {"scrawler.seen_filters:theirs": "make"})
    kind = PART_KINDS["seen"]
    assert load_settings({"seen": "theirs"}).seen == "theirs"
    assert part_maker(kind, "theirs")(MemoryBudget(1000)).unseen([]) == []
    (part,) = [part for part in parts(kind) if part.name == "theirs"]
    assert str(part) == "seen theirs of their-filter 1.0 (their_filter:make)"


def test_a_name_of_ours_stays_ours(place: Path) -> None:
    install(place, "thief", "", {"scrawler.seen_filters:exact": "steal"})
    assert part_maker(PART_KINDS["seen"], "exact") is load_object("scrawler.core.seen:ExactSeen")
    assert "thief 1.0" not in {part.package for part in parts(PART_KINDS["seen"])}


def test_an_unknown_name_is_told_in_a_line_with_those_that_are_known(place: Path) -> None:
    install(place, "their-filter", "", {"scrawler.seen_filters:theirs": "make"})
    with pytest.raises(SettingsError) as caught:
        load_settings({"seen": "nobodys"})
    assert str(caught.value) == (
        "--seen nobodys is not allowed, only compact, rbloom, exact, pybloom (scrawler), or theirs (their-filter 1.0), "
        "or what another package brings as an entry point of scrawler.seen_filters"
    )
    assert not is_part(PART_KINDS["extractor"], "theirs")


def test_who_names_a_part_that_was_ours_is_told_where_it_is(place: Path) -> None:
    (place / "scrawler.toml").write_text('[parts]\ndistribution = "hands"\n')
    with pytest.raises(
        SettingsError, match=r"^scrawler\.toml: .* is not allowed \(.* experiments/arms .*\), only distri"
    ):
        load_settings({})


def test_each_unknown_name_of_a_list_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAWLER_URL_FILTERS", "a,b")
    with pytest.raises(SettingsError, match=r"^SCRAWLER_URL_FILTERS=a,b is not allowed \('a'\), .*allowed \('b'\)"):
        load_settings({})


def test_two_packages_with_the_same_name_are_told_apart_by_nobody(place: Path) -> None:
    for name in ("one", "two"):
        install(place, name, "", {"scrawler.seen_filters:theirs": "make"})
    with pytest.raises(SettingsError, match=r"^seen 'theirs' is ambiguous: (one|two) 1.0 and (one|two) 1.0 have one$"):
        part_maker(PART_KINDS["seen"], "theirs")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("def make(:", "cannot be imported: SyntaxError: "),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("", "cannot be imported: AttributeError: module 'bad_one' has no attribute 'make'"),
        ("make = 'text'", "does not fit: it is a str, nothing that makes a part"),
        ("class make: ...", "does not fit scrawler.core.seen:SeenFilter: it has no __contains__, add, close, unseen"),
        (
            "def make(budget): return {'unseen'}",
            "does not fit scrawler.core.seen:SeenFilter: it has no close, unseen",
        ),
        ("def make(): ...", "cannot be made: TypeError: make() takes 0 positional arguments but 1 was given"),
        ("def make(budget): raise OSError('a\\nb')", "cannot be made: OSError: a b"),
    ],
    ids=("import", "syntax", "error", "attribute", "callable", "class", "made", "arguments", "making"),
)
def test_a_plug_in_that_does_not_work_is_told_in_a_line(place: Path, code: str, said: str) -> None:
    install(place, "bad-one", code, {"scrawler.seen_filters:bad": "make"})
    with pytest.raises(PluginError) as caught:
        part_maker(PART_KINDS["seen"], "bad")(MemoryBudget(1000))
    assert str(caught.value).startswith(f"seen bad of bad-one 1.0 (bad_one:make) {said}")
    assert "\n" not in str(caught.value)


_DOWNLOADER = """
from scrawler.fetch.curl import CurlDownloader

class Failing(CurlDownloader):
    left = {reads}

    @property
    def in_flight(self):
        self.left -= 1
        if self.left < 0:
            raise {error}
        return 0
"""


@pytest.mark.parametrize("error", ["AttributeError('no good')", "OSError('no good')"])
@pytest.mark.parametrize("reads", [0, 1])
def test_a_part_answers_for_its_properties_as_well(place: Path, reads: int, error: str) -> None:
    """One that fails at once is met by the look whether the part has it."""
    install(place, "bad-one", _DOWNLOADER.format(reads=reads, error=error), {"scrawler.downloaders:bad": "Failing"})
    make = part_maker(PART_KINDS["downloader"], "bad")
    with pytest.raises(PluginError) as caught:
        make(FetchLimits("agent", 1, 1, 1, 1)).in_flight  # noqa: B018
    assert str(caught.value).startswith("downloader bad of bad-one 1.0 (bad_one:Failing) ")


def test_what_no_interface_asks_for_may_be_missing(place: Path) -> None:
    code = "from scrawler.core.seen import ExactSeen\ndef make(budget): return ExactSeen(budget)\n"
    install(place, "their-filter", code, {"scrawler.seen_filters:theirs": "make"})
    part = part_maker(PART_KINDS["seen"], "theirs")(MemoryBudget(1000))
    assert not hasattr(part, "_looked_for_by_somebody")
    assert "http://a.example/" not in part
