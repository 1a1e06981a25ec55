"""Objects by their reference, imported when asked for: what a run does not use costs it nothing."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Any


def load_object(reference: str) -> Any:
    """Return the object to which a reference, written as `package.module:attribute`, leads."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def load_for_good(reference: str) -> Any:
    """Return the object, for the whole life of a process that has just begun; what it loads stays.

    To look all that through for garbage, now and at the end of the process, would take a fifth of its start.
    """
    gc.disable()
    try:
        return load_object(reference)
    finally:
        gc.freeze()
        gc.enable()
