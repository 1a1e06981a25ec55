"""All that is compiled, built under gcc's address sanitizer, and run on thousands of pages and on its own tests.

What a sanitizer finds ends the process: a byte read or written beyond its memory, memory used after it is given back,
arithmetic that C leaves undefined.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiled import LINKSCAN, ROOT, SIMHASH, build, build_file, compiled_parts

SEED, CASES = os.environ.get("SEED", "1"), os.environ.get("SCRAWLER_SANITIZED_PAGES", "2000")
FLAGS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
# The tests of each part that are run on the sanitized one; a part without a test fails.
TESTS = {
    "scrawler.archive._records": [
        "tests/unit/archive/test_archive_record.py",
        "tests/unit/archive/test_archive_records.py",
    ],
    "scrawler.core.party._archived": ["tests/unit/core/test_archived_payloads.py"],
    LINKSCAN: ["tests/unit/extract/test_extract_links.py"],
    SIMHASH: ["tests/unit/extract/test_extract_simhash.py"],
    "scrawler.fetch._heads": ["tests/unit/fetch/test_fetch_heads.py"],
    "scrawler.store._sums": ["tests/unit/store/test_sqlite_sums.py"],
    "scrawler.urls._lookup": [
        "tests/unit/urls/test_urls_analyzer.py",
        "tests/unit/urls/test_urls_elsewhere.py",
        "tests/unit/urls/test_urls_query.py",
        "tests/unit/core/test_crawl_known_links.py",
        "tests/unit/core/test_crawl_seen.py",
    ],
}
BROKEN = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyObject *scan(PyObject *module, PyObject *args)
{
    Py_buffer page;
    PyObject *flags, *entities;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*OO", &page, &flags, &entities))
        return NULL;
    PyObject *found = PyLong_FromLong(((const char *)page.buf)[page.len]); /* one byte too far */
    PyBuffer_Release(&page);
    return found;
}
static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_linkscan", "", -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__linkscan(void) { return PyModule_Create(&definition); }
"""


@pytest.fixture(scope="module")
def library() -> str:
    """Return the sanitizer's library, which has to be loaded before all others."""
    try:
        told = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no C compiler: on Debian, apt-get install gcc")
    library = Path(told.stdout.strip())
    if not library.is_absolute():
        pytest.skip("no address sanitizer beside the C compiler: on Debian, apt-get install libgcc-12-dev")
    return str(library.resolve())


@pytest.fixture(scope="module")
def built(library: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with all parts; whichever worker wants them first builds them for all."""
    of_worker = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return build_all(of_worker / "sanitized")
    with (of_worker.parent / "sanitized.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build_all(of_worker.parent / "sanitized")


def build_all(folder: Path) -> Path:
    if not folder.exists():
        unfinished = folder.with_suffix(".new")
        unfinished.mkdir()
        for part in compiled_parts():
            build(part, unfinished, FLAGS)
        unfinished.rename(folder)
    return folder


def run(folder: Path, library: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps much to its end
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # else objects share memory that is not watched
    }
    environment.pop("TEST_PLAIN", None)
    command = [sys.executable, "-m", "tests.fuzz.compiled_parts", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.heavy
def test_no_page_makes_what_is_compiled_leave_its_memory(built: Path, library: str) -> None:
    done = run(built, library, "--seed", SEED, "--cases", CASES)
    assert done.returncode == 0, f"SEED={SEED}\n{done.stdout[-2000:]}\n{done.stderr[:4000]}"
    assert done.stdout.startswith(f"{CASES} pages\n")


@pytest.mark.heavy
@pytest.mark.parametrize("part", TESTS)  # one after the other they would be what all other heavy tests are waited for
def test_no_test_of_a_part_makes_it_leave_its_memory(built: Path, library: str, part: str) -> None:
    assert TESTS.keys() == set(compiled_parts())
    done = run(built, library, "--cases", "1", "--tests", *TESTS[part])
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[:4000]}"
    assert " passed" in done.stdout


@pytest.mark.heavy
def test_a_byte_that_is_read_too_far_is_seen(built: Path, library: str, tmp_path: Path) -> None:
    for part in built.glob("*.so"):
        (tmp_path / part.name).symlink_to(part)
    (tmp_path / f"{LINKSCAN}.so").unlink()
    broken = tmp_path / "broken.c"
    broken.write_text(BROKEN)
    build_file(broken, tmp_path / f"{LINKSCAN}.so", FLAGS)
    done = run(tmp_path, library, "--cases", "1")
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
