"""All threads of a machine share one heap of the C library: what one has freed is for any other one to use."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, Scrawler, python_path
from tests.plugged import install

_CODE = """
import ctypes, os

def make(settings):
    def tell_heaps(url, on, depth):
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
        libc.fclose.argtypes = [ctypes.c_void_p]
        file = libc.fopen(f"heaps-{os.getpid()}.xml".encode(), b"w")
        libc.malloc_info(0, file)
        libc.fclose(file)
        return ""
    return tell_heaps
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
@pytest.mark.parametrize("machines", [1, 2])
def test_no_thread_has_a_heap_of_its_own(scrawler: Scrawler, seed_file: Path, tmp_path: Path, machines: int) -> None:
    package = tmp_path / "package"
    package.mkdir()
    install(package, "heaps", _CODE, {"scrawler.url_filters:heaps": "make"})
    scrawler("import", str(seed_file))
    flags = ("--no-export", "--url-filters", "heaps", "--machines", str(machines))
    scrawler(*CRAWL, *flags, PYTHONPATH=python_path(package))
    told = [file.read_text() for file in tmp_path.glob("heaps-*.xml")]
    assert 1 <= len(told) <= machines
    assert [text.count("<heap ") for text in told] == [1] * len(told)
