"""Objects by their reference, imported when asked for: what a run does not use costs it nothing."""

from __future__ import annotations

import gc
import os
from importlib import import_module
from typing import Any

_NO_WATCHERS = "PYDANTIC_DISABLE_PLUGINS"


def load_object(reference: str) -> Any:
    """Return the object to which a reference, written as `package.module:attribute`, leads."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def load_for_good(reference: str) -> Any:
    """Return the object, for the whole life of a process that has just begun; what it loads stays.

    To look all that through for garbage, now and at the end of the process, would take a fifth of its start. Nor does
    pydantic look through all packages that are installed for what would watch the models that are made here.
    """
    gc.disable()
    asked = os.environ.get(_NO_WATCHERS)
    os.environ[_NO_WATCHERS] = "__all__"
    try:
        return load_object(reference)
    finally:
        if asked is None:
            del os.environ[_NO_WATCHERS]
        else:
            os.environ[_NO_WATCHERS] = asked
        gc.freeze()
        gc.enable()
