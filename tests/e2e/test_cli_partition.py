"""Crawls of three machines, divided in each way; one is killed in the midst of it, and others come."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from scrawler.cli.main import scrawler as group
from scrawler.features.cluster.identity import NamedMachine
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.truth import Party, party
from scrawler.model.partitions import PartitionKind
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.pages import Pages
from tests.e2e.conftest import CRAWL, TIMEOUT, Scrawler, started
from tests.torture.crawl import wait_for

SITES = 24
_HEAVY = pytest.mark.heavy
DIVIDED = [PartitionKind.CONSISTENT, PartitionKind.MODULO, PartitionKind.DYNAMIC]


@pytest.fixture(scope="module")
def web() -> Iterator[SynthServer]:
    """A synthetic web whose sites are sub-sites of one domain."""
    spec = WebSpec(seed=5, sites=SITES, mean_pages=12, max_pages=40, page_bytes=1500, hosts=Hosts.NAMES)
    with SynthServer(spec) as server:
        yield server


@pytest.fixture
def named(web: SynthServer) -> dict[str, str]:
    """The setting that tells the addresses of the hosts."""
    return {"SCRAWLER_RESOLVE": ",".join(f"{host}={address}" for host, address in web.web.addresses().items())}


def _seeds(web: SynthServer, tmp_path: Path, sites: int = SITES) -> set[str]:
    """Write seeds.txt; return all pages to be found from there, each site for itself."""
    seeds = [url for site in range(sites) for url in web.web.seeds_of(site)]
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in seeds))
    return {url for seed in seeds for url in _wanted(party(web.web, seed, max_depth=15))}


def _wanted(found: Party) -> set[str]:
    return found.pages | {file for file in found.files if file.endswith(".pdf")}


def _fetched(url: str) -> set[str]:
    """All that was fetched, each page once."""
    database = open_database(url, create=False)
    try:
        found = Counter(row.url for row in Pages(database).all() if row.result == Result.FETCHED)
    finally:
        database.close()
    assert max(found.values()) == 1
    return set(found)


def _kill_one(url: str) -> None:
    database = open_database(url, create=False)
    try:
        views = [one for one in Machines(database).machines() if one.state == "running" and one.sites]
    finally:
        database.close()
    os.kill(views[0].pid, signal.SIGKILL)


@_HEAVY
@pytest.mark.parametrize("kind", DIVIDED)
def test_nothing_is_lost_or_fetched_twice_though_machines_come_and_die(
    scrawler: Scrawler, web: SynthServer, named: dict[str, str], tmp_path: Path, kind: PartitionKind
) -> None:
    url = f"sqlite:///{tmp_path / 'scrawler.db'}"
    truth = _seeds(web, tmp_path)
    before = len(web.log())
    scrawler("import", "seeds.txt")
    words = (*CRAWL, "--threads", "2", "--delay", "0.05", "--partition", kind.value, "--no-export")
    with started(tmp_path, *words, "--machines", "2", **named) as running:
        wait_for(lambda: len(web.log()) > before + 40, TIMEOUT, "requests")
        with started(tmp_path, *words, "--agent", "late", "--capacity", "2", **named) as joining:
            wait_for(lambda: len(web.log()) > before + 90, TIMEOUT, "requests")
            _kill_one(url)
            _, said = joining.communicate(timeout=TIMEOUT)
            assert joining.returncode == 0, said
        _, said = running.communicate(timeout=TIMEOUT)
        assert running.returncode == 0, said
    assert _fetched(url) == truth


@_HEAVY
def test_one_domain_is_fetched_by_many_from_one_page_on(
    scrawler: Scrawler, web: SynthServer, named: dict[str, str], tmp_path: Path
) -> None:
    seed = web.web.seeds_of(0)[0]
    truth = _wanted(party(web.web, seed, Scope.DOMAIN))
    (tmp_path / "seeds.txt").write_text(f"{seed}\n")
    scrawler("import", "seeds.txt")
    words = (*CRAWL, "--machines", "3", "--threads", "2", "--partition", "subsite", "--hops", "100", "--no-export")
    with started(tmp_path, *words, "--max-depth", "1000", **named) as running:
        _, said = running.communicate(timeout=TIMEOUT)
        assert running.returncode == 0, said
    assert _fetched(f"sqlite:///{tmp_path / 'scrawler.db'}") == truth


def test_machines_without_agreement_have_databases_of_their_own(
    scrawler: Scrawler, web: SynthServer, named: dict[str, str], tmp_path: Path
) -> None:
    truth = _seeds(web, tmp_path, sites=4)
    refused = scrawler(*CRAWL, "--partition", "none", "--machines", "3", code=2)
    assert "each with a database of its own" in refused.stderr
    refused = scrawler(*CRAWL, "--partition", "none", "--mode", "exchange", code=2)
    assert "knows of no other to which it could send URLs" in refused.stderr
    for name in "ab":
        database = {"SCRAWLER_DB": f"sqlite:///{name}.db", "SCRAWLER_PAGES_DIR": name, **named}
        scrawler("import", "seeds.txt", **database)
        scrawler(*CRAWL, "--threads", "2", "--partition", "none", "--no-export", **database)
        assert _fetched(f"sqlite:///{tmp_path / name}.db") == truth
    (tmp_path / "expected.txt").write_text("".join(f"{url}\n" for url in [*truth, "http://nowhere.example/"]))
    both = ("partition", "overlap", "sqlite:///a.db", "sqlite:///b.db", "--expected", "expected.txt")
    told = json.loads(scrawler(*both, "--json").stdout)
    assert told == {
        "databases": {"sqlite:///a.db": len(truth), "sqlite:///b.db": len(truth)},
        **{"pages": 2 * len(truth), "different": len(truth), "overlap": 1.0},
        **{"guest_pages": 0, "guest_overlap": 0},
        **{"sent": 0, "sent_a_page": 0.0, "machines": 2, "busiest_pages": 1.0, "busiest_bytes": 1.0},
        "coverage": round(len(truth) / (len(truth) + 1), 4),
    }
    assert f"{2 * len(truth):,}" in scrawler(*both).stdout


def test_the_partition_is_shown_and_set_for_all_machines(scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="http://a.example/")
    url = f"sqlite:///{tmp_path / 'scrawler.db'}"

    def told(*words: str) -> str:
        """Run a command here, while the leases last."""
        done = CliRunner().invoke(group, ["partition", *words, "--db", url], catch_exceptions=False)
        assert done.exit_code == 0
        return done.stdout

    assert told("show") == "partition: independent\nno machine runs\n"
    database = open_database(url, create=False)
    try:
        machines = Machines(database)
        named = NamedMachine("a"), NamedMachine("b", "3")
        made = [machines.register("here", os.getpid(), 0, one) for one in named]
        runs = Crawls(database)
        first, second = (runs.begin_run(one.id, {"partition": "modulo"}) for one in made)
        assert told("show").startswith("partition: modulo\n")
        runs.end_run(first, "ended", pages=0, bytes_=0, errors=0)
        assert told("show").startswith("partition: modulo\n")
        assert told("show", "--partition", "dynamic").startswith("partition: dynamic\n")
        runs.end_run(second, "ended", pages=0, bytes_=0, errors=0)
        assert told("show").startswith("partition: independent\n")
        told("set", "consistent")
        assert told("show").startswith("partition: consistent\n")
        for one, weight in zip(made, (1, 3), strict=True):
            machines.beat(one.id, weight=weight)
        shares = {row["agent"]: row["share"] for row in map(json.loads, told("show", "--json").splitlines())}
    finally:
        database.close()
    assert list(shares) == [one.agent for one in made]
    assert sum(shares.values()) == pytest.approx(1, abs=0.001)
    assert shares["b"] == pytest.approx(0.75, abs=0.05)
    assert "none" in scrawler("partition", "set", "none", code=2).stderr


def test_subsites_are_hosts(scrawler: Scrawler, tmp_path: Path) -> None:
    scrawler("import", "-", given="http://a.example/", SCRAWLER_SCOPE="domain")
    assert "use --scope host" in scrawler(*CRAWL, "--partition", "subsite", code=2).stderr
    assert "scope of the crawl is domain" in scrawler("partition", "set", "subsite", code=2).stderr
