"""Parts that can be chosen by name: those of this program, and those of packages that are installed beside it.

Our own stand in a table (`settings/parts.py`), and are imported when they are chosen: what a run does not use costs it
nothing. Packages say by entry points what they bring; their metadata is read only when a name is not ours, or to list
all parts. What they make is checked to have the methods of its interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from scrawler.errors import PluginError, ScrawlerError, SettingsError, is_interrupt, message_of
from scrawler.feature import OWN_PACKAGE, feature_parts, package_of
from scrawler.references import load_object

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_SPECIAL_METHODS = ("__call__", "__contains__")  # an interface may ask for these special methods
_loaded: set[str] = set()  # packages of others whose parts were loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class PartKind:
    """What a setting chooses: the entry point group, the protocol that parts follow, and our own parts by name.

    References are written as `package.module:attribute`; what they lead to makes the part. `answers` are those of the
    types that methods return of which something is read: of another package's parts that is checked. A part that is
    `watched` answers for what it raises; of others whoever calls them tells more, as for which URL one has failed.
    `elsewhere` says of names that were ours where they are now.
    """

    setting: str
    group: str
    interface: str
    own: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    watched: bool = True
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def ours(self) -> dict[str, str]:
        """Return our own parts by name, those of features among them."""
        return {**self.own, **feature_parts(self.setting)}

    def where_now(self, name: str) -> str:
        """Say where a part is that was ours, in brackets; empty for any other name."""
        return f" ({self.elsewhere[name]})" if name in self.elsewhere else ""


class Part(NamedTuple):
    """A part that can be chosen; `package` is the distribution that brings it, with its version."""

    kind: PartKind
    name: str
    package: str
    reference: str

    def __str__(self) -> str:
        return f"{self.kind.setting} {self.name} of {self.package} ({self.reference})"


def is_part(kind: PartKind, name: str) -> bool:
    """Tell whether there is such a part, here or in an installed package."""
    return name in kind.ours() or bool(_entry_points(kind, name))


def parts(kind: PartKind) -> Iterator[Part]:
    """Yield all parts of a kind, ours first; none is imported."""
    for name, reference in kind.ours().items():
        yield Part(kind, name, OWN_PACKAGE, reference)
    for point in sorted(_entry_points(kind), key=lambda point: (point.name, package_of(point))):
        if point.name not in kind.ours():
            yield Part(kind, point.name, package_of(point), point.value)


def parts_in_words(kind: PartKind) -> str:
    """Say which parts of a kind can be chosen, whose they are, and where others come from."""
    names: dict[str, list[str]] = {}
    for part in parts(kind):
        names.setdefault(part.package, []).append(part.name)
    found = [f"{', '.join(some)} ({package})" for package, some in names.items()]
    return ", or ".join([*found, f"what another package brings as an entry point of {kind.group}"])


def part_maker(kind: PartKind, name: str) -> Callable[..., Any]:
    """Import a part; returns what makes it, with the arguments that the kind's documentation names.

    Of a plug-in, what is made is checked to have what the interface asks for; what it raises later is a PluginError.

    Raises:
        SettingsError: nothing has this name, or two packages have.
        PluginError: a plug-in cannot be imported, or is nothing that makes parts. Making one raises it as well.
    """
    own = kind.ours()
    if name in own:
        maker: Callable[..., Any] = load_object(own[name])
        return maker
    points = _entry_points(kind, name)
    if not points:
        what = f"{kind.setting} {name!r} is not installed{kind.where_now(name)}"
        raise SettingsError(f"{what}, only {parts_in_words(kind)}")
    if len(points) > 1:
        raise SettingsError(f"{kind.setting} {name!r} is ambiguous: {' and '.join(map(package_of, points))} have one")
    return _plugin_maker(points[0], Part(kind, name, package_of(points[0]), points[0].value))


def others_run() -> bool:
    """Tell whether code of other packages was loaded, which may count on Python to close its files at the end."""
    return bool(_loaded)


def in_a_line(error: BaseException) -> str:
    """Write an exception of somebody else's code in one line."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _plugin_maker(point: EntryPoint, part: Part) -> Callable[..., Any]:
    _loaded.add(part.package)
    try:
        make = point.load()
    except Exception as error:
        raise PluginError(f"{part} cannot be imported: {in_a_line(error)}") from error
    if not callable(make):
        raise PluginError(f"{part} does not fit: it is a {type(make).__name__}, nothing that makes a part")
    if isinstance(make, type):
        _check_fit(part, make)

    def checked(*arguments: Any, **named: Any) -> Any:
        try:
            made = make(*arguments, **named)
        except Exception as error:
            raise PluginError(f"{part} cannot be made: {in_a_line(error)}") from error
        _check_fit(part, made)
        return _Answerable(part, made) if part.kind.watched else made

    return checked


class _Answerable:
    """A part of another package, which answers for what it raises: else that would be taken for a fault of ours."""

    def __init__(self, part: Part, made: Any) -> None:
        self._part = part
        self._made = made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name not in _SPECIAL_METHODS:  # no interface asks for such names
            return getattr(self._made, name)
        found = self._answered(getattr, self._made, name)
        if not callable(found):
            return found
        call = partial(self._answered, found)
        if (reference := self._part.kind.answers.get(name)) is not None:
            call = partial(self._checked, name, load_object(reference), call)
        self.__dict__[name] = call  # the next look finds it there
        return call

    def _answered(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return call(*arguments, **named)
        except ScrawlerError:
            raise
        except BaseException as error:  # whoever calls sys.exit in a part does not end the program without a word
            if is_interrupt(error):
                raise
            raise PluginError(f"{self._part} failed: {in_a_line(error)}") from error

    def _checked(self, name: str, wanted: type, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        found = call(*arguments, **named)
        if not isinstance(found, wanted):
            what = f"{type(found).__name__}, not a {wanted.__name__}"
            raise PluginError(f"{self._part} failed: {name} returned a {what}")
        return found

    def __contains__(self, item: object) -> bool:
        return bool(self.__getattr__("__contains__")(item))


def _check_fit(part: Part, made: object) -> None:
    """Look whether a part, or the class of one, has all methods of its interface."""
    asked_for = vars(load_object(part.kind.interface)).items()
    names = [name for name, value in asked_for if name in _SPECIAL_METHODS or _is_public(name, value)]
    try:
        missing = sorted(name for name in names if not hasattr(made, name))
    except Exception as error:  # a property may raise anything
        raise PluginError(f"{part} failed: {in_a_line(error)}") from error
    if missing:
        raise PluginError(f"{part} does not fit {part.kind.interface}: it has no {', '.join(missing)}")


def _is_public(name: str, value: object) -> bool:
    return not name.startswith("_") and (callable(value) or hasattr(value, "__set__"))  # as a property, in either form


def _entry_points(kind: PartKind, name: str | None = None) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # its import takes long, as does reading the metadata of all packages

    return list(entry_points(group=kind.group) if name is None else entry_points(group=kind.group, name=name))
