"""Named tuples that cost a third to make, where their part in C (`_quick.c`) is compiled.

A page goes through some twenty of them. Each is made by a function that Python writes for its class, which puts its
arguments into a tuple that is copied into another one. The part in C answers a call of the class itself, and does the
same in one step; without it nothing changes but the cost.
"""

from __future__ import annotations

from typing import TypeVar

from scrawler.compiled import compiled_part

_part = compiled_part("scrawler.tuples._quick")
Made = TypeVar("Made", bound=tuple[object, ...])


def quick(kind: type[Made]) -> type[Made]:
    """Let objects of a NamedTuple be made in one step: for those of which each page makes one or more."""
    if _part is not None:
        fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
        defaults: dict[str, object] = kind._field_defaults  # type: ignore[attr-defined]
        _part.quicken(kind, fields, tuple(defaults.values()))
    return kind
