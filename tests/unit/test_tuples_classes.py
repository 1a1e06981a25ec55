"""Dataclasses and named tuples of ours are what those of Python are, with all that is asked of them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import threading
import typing
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

import scrawler
from scrawler.tuples import classes
from tests.tables import each

ours: Any = classes.dataclass
THEIRS = dataclasses.dataclass


def declared(dataclass: Any, **options: bool) -> Any:
    """Return a class with whatever fields can be like."""

    @dataclass(**options)
    class Kind:
        """One of two."""

        name: str
        size: int = 3
        found: list[str] = field(default_factory=list)
        secret: str = field(default="x", repr=False)
        number: int = field(default=0, compare=False)
        sum: int = field(init=False)
        kept: int = field(init=False, default=7)
        made: list[int] = field(init=False, default_factory=list)
        last: bool = field(default=False, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "sum", self.size + 1)

    return Kind


OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "kw_only": kw_only}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for kw_only in (False, True)
]
DEEDS: dict[str, Callable[[Any], object]] = {
    "made": lambda kind: asdict(kind(name="a")),
    "of places": lambda kind: asdict(kind("a", 2, ["b"])),
    "its own list": lambda kind: kind(name="a").found is kind(name="a").found,
    "shown": lambda kind: repr(kind(name="a", size=5)),
    "wanting": lambda kind: kind(),
    "too much": lambda kind: kind(name="a", colour="red"),
    "not to be given": lambda kind: kind(name="a", sum=2),
    "equal": lambda kind: kind(name="a", number=1) == kind(name="a", number=2),
    "unequal": lambda kind: kind(name="a") == kind(name="b"),
    "another kind": lambda kind: kind(name="a") == ("a", 3),
    "hashed": lambda kind: len({kind(name="a", found=()), kind(name="a", found=())}),
    "set": lambda kind: setattr(kind(name="a"), "size", 4),
    "deleted": lambda kind: delattr(kind(name="a"), "size"),
    "set what it has not": lambda kind: setattr(kind(name="a"), "colour", "red"),
    "replaced": lambda kind: asdict(replace(kind(name="a"), size=8)),
    "copied": lambda kind: asdict(copy.deepcopy(kind(name="a"))),
    "signature": lambda kind: [one.name for one in inspect.signature(kind).parameters.values()],
    "fields": lambda kind: [(one.name, one.type, one.init) for one in fields(kind)],
    "matched": lambda kind: kind.__match_args__,
    "documented": lambda kind: kind.__doc__,
    "its slots": lambda kind: getattr(kind, "__slots__", None),
    "derived, set": lambda kind: setattr(type("Derived", (kind,), {})(name="a"), "colour", "red"),
    "derived, set a field": lambda kind: setattr(type("Derived", (kind,), {})(name="a"), "size", 9),
}


def outcome(deed: Callable[[Any], object], kind: Any) -> object:
    try:
        return deed(kind)
    except (TypeError, FrozenInstanceError, AttributeError) as error:
        return type(error), str(error).replace(".<locals>", "")


@each("deed", DEEDS)
def test_a_dataclass_is_what_it_was(deed: str) -> None:
    for options in OPTIONS:
        if deed in ("set what it has not", "derived, set") and options["frozen"] and options["slots"]:
            continue  # Python's own fails there: its method knows only the class that had no slots yet
        theirs = outcome(DEEDS[deed], declared(THEIRS, **options))
        assert outcome(DEEDS[deed], declared(ours, **options)) == theirs, options


@ours(frozen=True, slots=True)
class Base:
    """A class from which others are derived, with one field."""

    at: int

    def line(self) -> str:
        return f"{self.at}"


@ours(frozen=True, slots=True)
class Derived(Base):
    """Has a field of its own, and a method that asks its base."""

    seed: str = "x"


@ours(slots=True)
class Empty:
    """Has no fields."""


class Plain(typing.NamedTuple):
    a: int
    b: str = "x"


class _Ours(classes.NamedTuple):
    a: int
    b: str = "x"

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"

    @classmethod
    def of(cls, text: str) -> _Ours:
        return cls(int(text))


@pytest.mark.parametrize("slots", [False, True])
def test_what_a_class_is_called_with_is_asked_as_each_python_asks(slots: bool) -> None:
    """Python asks `inspect.signature` of a class without a docstring; since 3.13 that hands over a class and `type`."""
    kind = declared(ours, slots=slots)
    method = inspect.getattr_static(kind, "__init__").__get__(kind, type(kind))
    assert list(inspect.signature(method).parameters) == ["name", "size", "found", "secret", "number", "last"]
    assert kind("a", 4).sum == 5


def test_a_derived_dataclass_has_the_fields_of_both() -> None:
    assert Derived(1) == Derived(1, "x") != Derived(1, "y")
    assert Derived(1) != Base(1)
    assert repr(Derived(2, "y")) == "Derived(at=2, seed='y')"
    assert hash(Derived(1)) == hash(Derived(1, "x"))
    assert pickle.loads(pickle.dumps(Derived(3))) == Derived(3)
    assert Empty() == Empty()
    assert repr(Empty()) == "Empty()"


def test_two_threads_may_make_the_first_objects_of_a_class() -> None:
    for _ in range(50):
        kind = declared(ours, slots=True)
        barrier, made = threading.Barrier(4), []

        def make(kind: Any = kind, barrier: threading.Barrier = barrier, made: list[Any] = made) -> None:
            barrier.wait()
            made.append(kind("a", 5))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [one.sum for one in made] == [6] * 4


def test_what_is_to_be_forked_has_its_methods_written() -> None:
    kinds = [declared(ours, slots=slots) for slots in (False, True)]

    class Two(classes.NamedTuple):
        a: int

    assert not any(inspect.isfunction(kind.__dict__["__init__"]) for kind in kinds)
    assert not isinstance(Two.__dict__["__new__"], staticmethod)
    classes.write_inits()
    assert all(inspect.isfunction(kind.__dict__["__init__"]) for kind in kinds)
    assert isinstance(Two.__dict__["__new__"], staticmethod)


def test_a_named_tuple_is_what_it_was() -> None:
    one = _Ours(1)
    assert (one, one._fields, one._field_defaults) == (Plain(1), Plain._fields, Plain._field_defaults)
    assert (one.both, _Ours.of("7").a, one._replace(b="y")) == ("1x", 7, (1, "y"))
    assert repr(one) == "_Ours(a=1, b='x')"
    assert (one._asdict(), _Ours._make("ab"), type(_Ours._make("ab"))) == ({"a": 1, "b": "x"}, ("a", "b"), _Ours)
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one
    assert (_Ours.__module__, _Ours.__qualname__) == (__name__, "_Ours")
    assert typing.get_type_hints(_Ours) == typing.get_type_hints(Plain) == {"a": int, "b": str}
    assert inspect.signature(_Ours).parameters.keys() == {"a", "b"}
    with pytest.raises(TypeError, match="'a'"):
        _Ours()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Expected 2 arguments, got 3"):
        _Ours._make("abc")
    with pytest.raises(TypeError, match="'c'"):
        one._replace(c=1)  # type: ignore[call-arg]


def test_a_class_derived_from_a_named_tuple_is_made_as_that_is() -> None:
    class More(_Ours):
        def twice(self) -> int:
            return 2 * self.a

    assert More(2).twice() == More(b="y", a=2).twice() == 4
    assert More._make((1, "z")).both == "1z"
    assert (len(classes._PLACES._fields), classes._READERS[1].__get__(_Ours(1))) == (64, "x")


def test_all_classes_of_the_package_are_declared_so() -> None:
    """There are hundreds of them: declared by Python, they would cost each start of a command 50 ms of CPU more."""
    package = Path(scrawler.__file__).parent
    imported = re.compile(r"^from (?:dataclasses|typing) import .*\b(?:dataclass|NamedTuple)\b", re.MULTILINE)
    found = [path.name for path in package.rglob("*.py") if imported.search(path.read_text())]
    assert found == []
