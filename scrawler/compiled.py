"""What is compiled, where a compiler was: the parts in C, and by mypyc, where the build was told to, the hot path.

What was built before an update of the source may take or return something else than its callers expect since then. So
each part in C has a number, `INTERFACE`, that is counted up there and here with every change of what goes in or comes
out. A part with another number counts as not compiled.

What mypyc compiles has a form in Python that stands beside it. Python prefers what is compiled, however old it is. So
the build writes down which modules it has compiled, and from which text: with another text than that, nothing runs.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_):  # needs no package: mypyc reads it where it stands, and nobody calls it then
        """Tell mypyc of a class that it may be derived from; does nothing else."""
        return lambda made: made


INTERFACES = {
    "scrawler.archive._records": 1,
    "scrawler.core.party._archived": 1,
    "scrawler.extract._linkscan": 2,
    "scrawler.extract._simhash": 1,
    "scrawler.fetch._heads": 1,
    "scrawler.store._sums": 1,
    "scrawler.urls._lookup": 3,
}
SLOWER = (
    "its parts in C could not be compiled, so links are found some eight times slower; with a C compiler and Python's "
    "headers (Debian: gcc python3-dev) there, install it again"
)
MANIFEST = "compiled_modules.txt"  # in the package's folder: a line for each module, its text's digest and its path
_FOLDER = Path(__file__).parent
_MEND = (
    f"compile anew, or remove all .so files of the package and {MANIFEST} (in the source's folder, `make clean` does)"
)


def compiled_part(name: str) -> ModuleType | None:
    """Return a part in C if it is compiled, and fits."""
    part = _imported(name)
    return part if part is not None and _fits(name, part) else None


def outdated_parts() -> list[str]:
    """Return the names of the parts in C that are compiled, but do not fit."""
    found = ((name, _imported(name)) for name in INTERFACES)
    return [name for name, part in found if part is not None and not _fits(name, part)]


def text_digest(text: bytes) -> str:
    """Return the digest by which the text of a module is known."""
    return blake2b(text, digest_size=16).hexdigest()


def compiled_modules(folder: Path = _FOLDER) -> dict[str, str]:
    """Return the modules that mypyc has compiled, as paths in the package's folder, with the digests of their texts."""
    try:
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {path: digest for digest, path in (line.split(" ", 1) for line in lines)}


def require_compiled_texts(folder: Path = _FOLDER) -> None:
    """Raise ImportError where the text of a module is not the one that was compiled."""
    listed = compiled_modules(folder)
    if not listed and any(folder.glob("*.so")):  # a build writes its list last: it was broken off, or the list removed
        raise ImportError(f"nobody knows from which texts the modules in {folder} were compiled: {_MEND}")
    for path, digest in listed.items():
        if _digest_of(folder / path) != digest:
            raise ImportError(f"{folder / path} has changed since it was compiled: {_MEND}")


def _digest_of(file: Path) -> str:
    try:
        return text_digest(file.read_bytes())
    except FileNotFoundError:
        return ""


def _imported(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _fits(name: str, part: ModuleType) -> bool:
    return getattr(part, "INTERFACE", 0) == INTERFACES[name]  # the first parts that were compiled had no number
