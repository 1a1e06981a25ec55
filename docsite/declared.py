"""Lets griffe, which reads the code for the library's reference, know dataclasses and named tuples of this house."""

from __future__ import annotations

from typing import Any

from griffe import Alias, Class, Extension, Module

from scrawler.tuples import classes

_AS_IN_PYTHON = {"dataclass": "dataclasses.dataclass", "NamedTuple": "typing.NamedTuple"}


class AsInPython(Extension):
    """Takes what modules import from `scrawler.tuples.classes` for what it stands for, which griffe knows by name."""

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Let the imports of a module lead to Python's own."""
        for name, path in _AS_IN_PYTHON.items():
            found = mod.members.get(name)
            if isinstance(found, Alias) and found.target_path == f"{classes.__name__}.{name}":
                found.target_path = path
                mod.imports[name] = path

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Call a dataclass one: griffe asks for that before imports lead to Python's own."""
        if any(one.callable_path == _AS_IN_PYTHON["dataclass"] for one in cls.decorators):
            cls.labels.add("dataclass")
