"""Objects by their reference, imported when asked for: what a run does not use costs it nothing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_object(reference: str) -> Any:
    """Return the object to which a reference, written as `package.module:attribute`, leads."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)
