"""Features: what the crawler can do beside crawling, each in a room of its own, that it finds and does not know.

A room is a folder of `scrawler/features/`, or of another package, with a light module that declares what the feature
brings: names, and references to objects that are imported when they are wanted. What is off is not imported but for
that. A room of this program declares itself as `FEATURE` in `scrawler/features/NAME/declaration.py`; another package
names its own by an entry point of the group `scrawler.features`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrawler.errors import PluginError, SettingsError, message_of
from scrawler.references import load_object

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "scrawler.features"
OWN_PACKAGE = "scrawler"  # what this program is called where packages are told
_ROOMS = Path(__file__).with_name("features")


class Command(NamedTuple):
    """A command of the command line: where it is, and how it ends.

    Fields:
        reference: leads to a click command, as `package.module:attribute`.
        lists: it only lists things, so that a reader who has seen enough (`| head`) is no error.
        lasts: it may have worked for days, so that what it cannot handle is shown as a fault, in full.
    """

    reference: str
    lists: bool = False
    lasts: bool = False


class Option(NamedTuple):
    """An option of `run` and `crawl` that is no setting.

    Fields:
        help: what it does, as `--help` says it.
        metavar: how its value is written; without one it is a flag.
        is_file: whether the value is the name of a file.
        companion: leads to a function that makes of the value what works beside the run
            (`scrawler.api.companions.MakeCompanion`), or raises SettingsError.
    """

    help: str
    metavar: str = ""
    is_file: bool = False
    companion: str = ""


def _always(_settings: Any) -> bool:
    return True


class Feature(NamedTuple):
    """A declaration: what a feature brings, by name. All references are written as `package.module:attribute`.

    Fields:
        name: the name of its room.
        about: what it is for, in one sentence.
        is_on: tells by the settings of a crawl whether it is wanted there; they are those of one host, too.
        settings: leads to a `FeatureSettings`, whose fields are settings like all others.
        groups: the tables of scrawler.toml in which these stand.
        parts: what can be chosen, by the setting that chooses it, and by name; see `PartKind.own`, and `mode`, whose
            parts are functions of a `scrawler.assembly.building.Building` that return its `Externals`.
        commands: commands of the command line, by name; "seeds choose" is one below `seeds`.
        options: options of `run` and `crawl`, by their names with underscores, without hyphens before.
        names: what `import scrawler` has of it, by name.
        library: methods of `Crawl`, by name: functions whose first argument is the crawl.
        hooks: what it offers at a place of the crawler that asks for more, by the name of that place (`hooked`).
        needs: names of the features without which it does not work.
        tables: of this program's features alone: the module that declares their tables, which sql/ has.
        version: of the rows that it keeps in the database, which needs the feature from then on; 0: it keeps none.
        needed_by_rows: whether a database needs it only once there are such rows: the feature notes that by itself, in
            the transaction of the first ones (`scrawler.store.upkeep.features.need`). Else it does from the first run
            with it.
    """

    name: str
    about: str
    is_on: Callable[[Any], bool] = _always
    settings: str = ""
    groups: Mapping[str, tuple[str, ...]] = {}
    parts: Mapping[str, Mapping[str, str]] = {}
    commands: Mapping[str, Command] = {}
    options: Mapping[str, Option] = {}
    names: Mapping[str, str] = {}
    library: Mapping[str, str] = {}
    hooks: Mapping[str, str] = {}
    needs: tuple[str, ...] = ()
    tables: str = ""
    version: int = 0
    needed_by_rows: bool = False


def on_for_any_host(settings: Any, name: str) -> bool:
    """Tell whether a switch is on in the settings of a crawl: for all hosts, or in the table of some."""
    return getattr(settings, name) or any(table.get(name) for table in settings.sites.values())


@lru_cache(maxsize=1)
def features() -> tuple[Feature, ...]:
    """Return all features that are there, those of this program first. Raises PluginError for one that is broken."""
    return tuple(feature for feature, _ in features_of_packages())


@lru_cache(maxsize=1)
def features_of_packages() -> tuple[tuple[Feature, str], ...]:
    """Return all features, each with the distribution that brings it, and its version. Raises as `features`."""
    own = [(_declared(room), OWN_PACKAGE) for room in _rooms()]
    taken = {feature.name for feature, _ in own}
    return (*own, *[other for other in _of_others() if other[0].name not in taken])


def features_on(settings: Any) -> list[Feature]:
    """Return the features that are wanted by the settings of a crawl."""
    return [feature for feature in features() if feature.is_on(settings)]


def feature_parts(setting: str) -> dict[str, str]:
    """Return the references of parts that features bring for a setting which chooses one, by name."""
    return {name: one for feature in features() for name, one in feature.parts.get(setting, {}).items()}


def part_of_feature(setting: str, name: str) -> Any:
    """Return the part that a feature brings for a setting, by name. Raises SettingsError where no feature does."""
    reference = feature_parts(setting).get(name)
    if reference is None:
        raise SettingsError(f"{setting} {name} needs a feature that is not installed")
    return load_object(reference)


def library_method(name: str) -> Callable[..., Any] | None:
    """Return what a feature does as this method of a crawl; None where there is no such feature."""
    for feature in features():
        if name in feature.library:
            method: Callable[..., Any] = load_object(feature.library[name])
            return method
    return None


def feature_names() -> dict[str, str]:
    """Return the references of what `import scrawler` has of features, by name."""
    return {name: reference for feature in features() for name, reference in feature.names.items()}


def library_names() -> list[str]:
    """Return the names of what features do as methods of a crawl."""
    return [name for feature in features() for name in feature.library]


def feature_options() -> dict[str, Option]:
    """Return the options of a run that features bring, by name."""
    return {name: option for feature in features() for name, option in feature.options.items()}


def feature_commands() -> dict[str, Command]:
    """Return the commands of all features, by name."""
    return {name: command for name, command in _commands().items() if " " not in name}


def commands_below(group: str) -> dict[str, Command]:
    """Return the commands that features add to a group of commands, by their names in it."""
    start = f"{group} "
    return {name.removeprefix(start): command for name, command in _commands().items() if name.startswith(start)}


def _commands() -> dict[str, Command]:
    return {name: command for feature in features() for name, command in feature.commands.items()}


def hooked(place: str, settings: Any = None) -> Iterator[Any]:
    """Yield what features offer at a place of the crawler, imported now; with settings, those that are on.

    The places, and what is offered there:

    * again: a function that orders that what was crawled is visited again (`scrawler.api.running.BeginAgain`)
    * agents: a function that opens the databases of a crawl without a common one (`scrawler.api.seeding.OpenAgents`)
    * archives: what opens other crawls to whose records those of one refer (`scrawler.insight.contents.OtherCrawls`)
    * arrivals: a function that returns who takes in URLs for the crawl of a database (`Database`); nobody: none come
    * beside: what makes a companion of a run (`scrawler.api.companions.MakeCompanion`)
    * build: a function that adds to a machine before it exists (`scrawler.assembly.building.Building`)
    * columns: a function that says what is wrong with further columns of a seed (`scrawler.seeds.formats.CheckColumns`)
    * each_page: a function that begins work on each page of a run (`scrawler.api.observing.BeginEachPage`)
    * markdown: a function that makes Markdown of a page (`scrawler.insight.contents.MarkdownMaker`)
    * files: a function that tells, of settings, which files of a process are taken (`scrawler.machine_run.FilesTaken`)
    * identity: a function that returns what a machine is called, of settings
      (`scrawler.store.claims.machines.Identity`)
    * lost: a function that yields pages of a crawl whose payloads are gone from other archives
      (`scrawler.upkeep.LostPayloads`)
    * prepare: a function that refuses settings for a crawl that was opened, before machines start: of these, whose name
      and scope are the crawl's own, and of its `Database` (SettingsError)
    * validate: a function that refuses settings before a run (SettingsError)
    * output: a function that may take what `crawl -o` is to write (`scrawler.cli.run.TakeOutput`)
    * report: a function that adds sections to a report (`scrawler.insight.reporting.Reporter`)
    * upgrade: of other packages, a function that makes or changes the tables of the feature in a database
      (`scrawler.store.upkeep.features.Upgrade`)
    * why: a function that adds facts on a URL that was fetched (`scrawler.insight.answer.Teller`)
    * status: a function that tells how a crawl stands (`scrawler.api.standing.TellStanding`)
    * told: a function that yields lines about a run that is over, of its crawl and its options
    * time_left: a function that tells how long a crawl takes yet (`scrawler.api.left.Forecast`)
    """
    for feature in features():
        reference = feature.hooks.get(place)
        if reference is not None and (settings is None or feature.is_on(settings)):
            yield load_object(reference)


def hooked_for(place: str, what: str) -> Any:
    """Return what a feature offers at a place, for `what` a user wants. Raises SettingsError where none is there."""
    offered = next(hooked(place), None)
    if offered is None:
        raise SettingsError(f"{what} needs a feature that is not installed")
    return offered


def is_hooked(place: str, settings: Any) -> bool:
    """Tell whether a feature that the settings turn on offers anything at a place; nothing is imported."""
    return any(place in feature.hooks and feature.is_on(settings) for feature in features())


def _rooms() -> list[str]:
    """Return the names of this program's rooms."""
    try:
        names = os.listdir(_ROOMS)
    except FileNotFoundError:
        return []
    return sorted(name for name in names if (_ROOMS / name / "declaration.py").is_file())


def _declared(room: str) -> Feature:
    feature: Feature = import_module(f"{GROUP}.{room}.declaration").FEATURE
    return feature


def _of_others() -> Iterator[tuple[Feature, str]]:
    """Yield the features that other packages declare, by name, and these packages."""
    if not _is_one_named():
        return
    from importlib.metadata import entry_points  # its import takes 60 ms, and it reads what all packages say

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            feature = point.load()
        except Exception as error:
            message = f"feature {point.name} ({point.value}) cannot be imported: {type(error).__name__}"
            raise PluginError(f"{message}: {message_of(error)}") from error
        if not isinstance(feature, Feature):
            raise PluginError(f"feature {point.name} ({point.value}) is a {type(feature).__name__}, not a Feature")
        yield feature, package_of(point)


def package_of(point: EntryPoint) -> str:
    """Return the distribution that brings what an entry point leads to, and its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"


def _is_one_named() -> bool:
    """Tell whether an installed package may declare a feature: 2 ms where nearly always none does."""
    wanted = f"[{GROUP}]".encode()
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")) and wanted in _entry_points_of(folder, name):
                return True
    return False


def _entry_points_of(folder: str, name: str) -> bytes:
    try:
        return Path(folder or ".", name, "entry_points.txt").read_bytes()
    except OSError:
        return b""
