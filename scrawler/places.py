"""Objects by the name of their place, imported when asked for: what a run does not use costs it nothing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_place(place: str) -> Any:
    """Return what stands at `place`, written as `package.module:attribute`."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
