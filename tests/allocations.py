"""Tests in which an allocation fails: Python's own `_testcapi` says which one."""

from __future__ import annotations

import sys

import pytest

# CPython's issue 134163: where there is no memory for a number while an exception unwinds, 3.12 and 3.13 read what is
# not there. That ends the process, so code in Python cannot be tried so; parts in C can, for they unwind nothing.
UNWINDS_WITHOUT_MEMORY = pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 14), reason="CPython 3.12 and 3.13 crash where memory lacks while they unwind"
)
