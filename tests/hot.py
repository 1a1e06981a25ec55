"""The form in which the hot path is compiled by mypyc (`make test-compiled`): which tests it leaves out, and why."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

_SEEN = (
    int,
    float,
    str,
    bytes,
    tuple,
    frozenset,
)  # values of a module that compiled code asks the module for each time
_NOT_GIVEN = object()


def is_compiled(module: ModuleType | None) -> bool:
    """Whether mypyc has compiled a module: what has a form in C alone begins with an underscore."""
    file = getattr(module, "__file__", None) or ""
    return file.endswith(".so") and "scrawler" in file and not file.rpartition("/")[2].startswith("_")


def require_the_form() -> None:
    """Make sure that it is that form which the tests import."""
    from scrawler.compiled import compiled_modules

    names = [f"scrawler.{path.removesuffix('.py').replace('/', '.')}" for path in compiled_modules()]
    assert names, "nothing is compiled"
    assert all(is_compiled(import_module(name)) for name in names)


class VisiblePatches(pytest.MonkeyPatch):
    """Skips a test that would replace what compiled code has bound: its calls do not ask by name."""

    def setattr(self, target: Any, name: Any, value: Any = _NOT_GIVEN, raising: bool = True) -> None:
        """Replace an attribute as the tests' usual fixture does, if all that uses it sees that."""
        if isinstance(target, str):
            path, _, attribute = target.rpartition(".")
            owner, given = _found(path), (target, name)
        else:
            owner, attribute, given = target, name, (target, name, value)
        module = owner if isinstance(owner, ModuleType) else sys.modules.get(getattr(owner, "__module__", None) or "")
        is_seen = isinstance(owner, ModuleType) and isinstance(getattr(owner, attribute, None), _SEEN)
        if is_compiled(module) and not is_seen:
            pytest.skip(f"replaces what is compiled: {attribute} of {getattr(owner, '__name__', owner)}")
        super().setattr(*given, raising=raising)


def _found(path: str) -> Any:
    try:
        return import_module(path)
    except ImportError:
        above, _, name = path.rpartition(".")
        return getattr(_found(above), name)
