"""The crawler works without its features: without any, and without each, and those that stand on it, in turn.

The package is copied, and folders are taken away from the copy. What is left is imported, module by module, and crawls
a synthetic web, which the whole package serves.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scrawler.feature import features
from scrawler.features.synthweb.process import ServerProcess
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from tests.limits import HANGS

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parents[1] / "rooms_program.py"
ROOMS = {feature.name: feature for feature in features()}
PARTS = 4
SPEC = WebSpec(sites=3, mean_pages=5, equal=True, page_bytes=2_000)


class Copied:
    """A copy of the package, from which rooms can be taken away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        package = folder / "scrawler"
        shutil.copytree(ROOT / "scrawler", package)  # with what Python has compiled of it: it is of the same age
        for data in ("sql", "input_urls"):
            shutil.copytree(ROOT / data, package / data)
        self.rooms = package / "features"

    @contextmanager
    def without(self, names: set[str]) -> Iterator[None]:
        """Take rooms away during a block."""
        away = self._folder / "away"
        away.mkdir()
        for name in names:
            (self.rooms / name).rename(away / name)
        try:
            yield
        finally:
            for name in names:
                (away / name).rename(self.rooms / name)
            away.rmdir()

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with the copy."""
        command = [sys.executable, *arguments]
        given = {"env": self._environment(), "cwd": self._folder}
        return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, **given)

    def _environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self._folder)}

    @contextmanager
    def crawling(self) -> Iterator[Callable[[list[str]], object]]:
        """Give what imports all that is left, crawls seeds, and returns the pages fetched, or what was raised."""
        command = [sys.executable, str(PROGRAM), str(self._folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, text=True, env=self._environment(), **pipes) as process:
            assert process.stdin is not None
            assert process.stdout is not None

            def crawled(seeds: list[str]) -> object:
                crawl = self._folder / "crawl"
                crawl.mkdir()
                print(json.dumps([str(crawl), seeds]), file=process.stdin, flush=True)
                said = json.loads(process.stdout.readline())
                shutil.rmtree(crawl)
                return set(said) if isinstance(said, list) else said

            yield crawled
            process.stdin.close()


def standing_on(name: str) -> set[str]:
    """Return a room and those that cannot be without it."""
    found = {name}
    while more := {one.name for one in features() if found & set(one.needs)} - found:
        found |= more
    return found


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Copied:
    return Copied(tmp_path_factory.mktemp("rooms"))


@pytest.fixture(scope="module")
def crawled(copied: Copied) -> Iterator[Callable[[list[str]], object]]:
    with copied.crawling() as crawled:
        yield crawled


@pytest.fixture(scope="module")
def served() -> Iterator[ServerProcess]:
    with ServerProcess(SPEC) as server:
        yield server


def test_rooms_declare_what_they_are_called() -> None:
    folders = {path.parent.name for path in (ROOT / "scrawler/features").glob("*/declaration.py")}
    assert set(ROOMS) == folders == {path.parent.name for path in (ROOT / "scrawler/features").glob("*/__init__.py")}


@pytest.mark.parametrize("part", range(PARTS))
def test_it_crawls_without_any_feature_and_without_each(
    copied: Copied, crawled: Callable[[list[str]], object], served: ServerProcess, part: int
) -> None:
    """A few tests, for all share the web and the copy, and one alone would take long on a busy machine."""
    seeds = [served.web.seeds_of(index)[0] for index in range(SPEC.sites)]
    pages = {page for seed in seeds for page in party(served.web, seed).pages}
    assert len(pages) >= SPEC.sites
    sets = {frozenset(ROOMS), *(frozenset(standing_on(name)) for name in ROOMS)}
    in_order = sorted(sets, key=lambda names: (-len(names), sorted(names)))
    for away in in_order[part::PARTS]:
        with copied.without(set(away)):
            assert crawled(seeds) == pages, f"without {sorted(away)}"


def test_what_a_feature_brings_is_unknown_where_it_is_away(copied: Copied) -> None:
    """A command, a command below another, an option of a run, and a setting: each is refused by its name."""
    commands = [name.split() for feature in features() for name in feature.commands]
    options = [["run", f"--{name.replace('_', '-')}"] for feature in features() for name in feature.options]
    given = [commands[0], *[one for one in commands if len(one) > 1][:1], *options[:1]]
    with copied.without(set(ROOMS)):
        for words in given:
            done = copied.python("-m", "scrawler", *words)
            assert done.returncode == 2, done.stderr
            last = done.stderr.splitlines()[-1]
            assert last.startswith("scrawler: error: No such "), last
            assert words[-1] in last


def test_words_whose_feature_is_away_are_refused_before_anything_begins(copied: Copied, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://there.example/\n")
    database = ("--db", f"sqlite:///{tmp_path}/crawl.db")
    with copied.without(standing_on("cluster")):
        assert copied.python("-m", "scrawler", "import", str(tmp_path / "seeds.txt"), *database).returncode == 0
        for setting, word in (("mode", "exchange"), ("partition", "modulo")):
            done = copied.python("-m", "scrawler", "run", f"--{setting}", word, *database)
            assert done.returncode == 2, done.stderr
            assert f"{setting} {word} needs a feature that is not installed" in done.stderr
