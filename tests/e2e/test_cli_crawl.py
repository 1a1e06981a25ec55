"""A crawl from the command line: seeds in, pages, URLs out, and in again."""

from __future__ import annotations

import csv
import io
import signal
from collections import Counter
from pathlib import Path

import pytest

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.truth import party
from tests.e2e.conftest import CRAWL, TIMEOUT, Rows, Scrawler, started, stop_cleanly
from tests.e2e.gated import GatedSite


def test_seeds_in_pages_crawled_urls_out_and_in_again(
    scrawler: Scrawler, rows: Rows, web: SynthServer, seed_file: Path, tmp_path: Path
) -> None:
    seeds = seed_file.read_text().split()
    truth = {url: party(web.web, url, max_depth=15) for url in seeds}
    pages = {url: one.pages | {file for file in one.files if file.endswith(".pdf")} for url, one in truth.items()}
    total = sum(map(len, pages.values()))
    candidates = set().union(*(one.external for one in truth.values())) - set(seeds)

    imported = scrawler("import", "seeds.txt")
    assert "7 seeds read: 7 new, 0 duplicate, 0 invalid" in imported.stderr
    crawled = scrawler(*CRAWL)
    assert "the crawl ended" in crawled.stdout
    assert f"exported 7 seeds, {len(candidates)} candidate seeds to output_urls/crawl.txt" in crawled.stderr
    assert "warning" not in crawled.stderr

    (status,) = rows("status")
    assert status["seeds"] == {"done": 7}
    assert status["pages"] == total
    assert {row["url"]: row["pages"] for row in rows("seeds", "--state", "done")} == {
        url: len(found) for url, found in pages.items()
    }
    of_errors = ("http_errors", "denied", "failures")
    assert status["errors"] == sum(row[name] for row in rows("seeds") for name in of_errors) > 0
    assert status["bytes"] <= sum(row["bytes"] for row in rows("seeds")), "the last attempts, of all"
    fetched = [row["url"] for row in rows("pages", "--seed", seeds[0]) if row["result"] == "fetched"]
    assert sorted(fetched) == sorted(pages[seeds[0]])

    exported = (tmp_path / "output_urls" / "crawl.txt").read_text().splitlines()
    assert exported[:7] == seeds
    assert len(exported) == 7 + len(candidates)
    assert set(exported[7:]) == candidates

    second = f"sqlite:///{tmp_path / 'second.db'}"
    scrawler("import", "output_urls/crawl.txt", SCRAWLER_DB=second)
    again = scrawler(*CRAWL, "--name", "second", "--no-export", SCRAWLER_DB=second)
    assert "ended" in again.stdout
    (status,) = rows("status", SCRAWLER_DB=second)
    assert status["seeds"] == {"done": len(exported)}
    assert status["pages"] >= total


@pytest.mark.heavy
def test_exports_agree_in_all_formats(scrawler: Scrawler, rows: Rows, seed_file: Path) -> None:
    scrawler("import", "seeds.txt")
    scrawler(*CRAWL, "--max-pages", "3", "--no-export")
    plain = scrawler("export", "-", "--pages").stdout.splitlines()
    table = list(csv.DictReader(io.StringIO(scrawler("export", "-", "--pages", "--format", "csv").stdout)))
    assert [row["url"] for row in table] == plain
    kinds = Counter(row["kind"] for row in table)
    assert kinds["seed"] == 7
    assert kinds["candidate"] > 0
    results = ("pages", "redirects", "http_errors", "failures", "denied")
    assert kinds["page"] == sum(row[name] for row in rows("seeds") for name in results)

    capped = scrawler("export", "-", "--end-reason", "max-pages").stdout.splitlines()
    assert capped == [row["url"] for row in table if row["end_reason"] == "max-pages"]
    assert capped
    for name in ("out.csv.gz", "out.jsonl.zst"):
        scrawler("export", name)
        scrawler("import", name, "--db", f"sqlite:///{name}.db")
        assert len(rows("seeds", "--db", f"sqlite:///{name}.db")) == len(plain) - kinds["page"]


@pytest.mark.heavy
def test_candidates_become_seeds_by_hops_and_by_hand(
    scrawler: Scrawler, rows: Rows, web: SynthServer, tmp_path: Path
) -> None:
    (seed,) = web.web.seeds_of(0)
    external = party(web.web, seed, max_depth=15).external
    chosen = sorted(external)[0]

    scrawler("import", "-", given=seed)
    scrawler(*CRAWL)
    none = scrawler("seeds", "promote", "--boundary", "host").stdout
    assert none.startswith("0 candidate seeds are seeds now\n")
    assert none.endswith(" outside the boundary (host)\n")
    promoted = scrawler("seeds", "promote", "--like", f"{chosen}%")
    assert "1 candidate seed is a seed now" in promoted.stdout or chosen in (row["url"] for row in rows("seeds"))
    assert {row["url"]: row["hops"] for row in rows("seeds")}[chosen] == 1
    assert "0 candidate seeds" in scrawler("seeds", "promote", "--min-count", "1000000").stdout

    scrawler(*CRAWL, "--hops", "1", "--max-pages", "2")
    found = {row["url"]: row["hops"] for row in rows("seeds")}
    assert found == {seed: 0, **dict.fromkeys(external, 1)}
    assert {row["state"] for row in rows("seeds")} == {"done"}


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    with GatedSite(pages=50, answered_at_once=20) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *CRAWL, by_script=True) as running:
            stop_cleanly(running, site, signal.SIGINT)
        (status,) = rows("status")
        assert 20 <= status["pages"] < 50
        assert "done" not in status["seeds"]

        scrawler(*CRAWL)
        (status,) = rows("status")
        assert (status["seeds"], status["pages"]) == ({"done": 1}, 50)
        assert sorted(site.asked) == sorted(f"/{number}" for number in range(50))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once(number: signal.Signals, scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    with GatedSite(pages=5, answered_at_once=0) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *CRAWL, by_script=True) as running:
            assert running.stderr is not None
            assert site.held.wait(TIMEOUT)
            running.send_signal(number)
            assert "stopping" in running.stderr.readline()
            running.send_signal(number)
            assert running.wait(timeout=TIMEOUT / 4) == 130
        (status,) = rows("status")
        assert sum(status["seeds"].values()) == 1


def test_a_crawl_keeps_its_scope_and_a_run_counts_as_the_status_does(
    scrawler: Scrawler, rows: Rows, seed_file: Path
) -> None:
    scrawler("import", "seeds.txt")
    ran = scrawler(*CRAWL, "--scope", "prefix", "--max-pages", "3")
    (status,) = rows("status")
    told = dict(line.split(maxsplit=1) for line in ran.stdout.splitlines()[1:] if line.startswith("  "))
    assert told["errors"] == f"{status['errors']:,}"
    assert told["pages"].split()[0] == f"{status['pages']:,}"

    scrawler(*CRAWL)
    assert rows("status")[0]["scope"] == "prefix"
    refused = scrawler(*CRAWL, "--scope", "domain", code=4)
    assert "cannot be changed to domain" in refused.stderr


def test_a_run_that_finds_all_done_says_what_can_be_done(scrawler: Scrawler, seed_file: Path) -> None:
    scrawler("import", "seeds.txt")
    assert "are done" not in scrawler(*CRAWL).stderr
    assert "all 7 seeds are done, there was nothing left to fetch; `scrawler run --again`" in scrawler(*CRAWL).stderr
    scrawler("import", "-", given="http://nowhere.invalid/")
    assert "are done" not in scrawler(*CRAWL).stderr
    said = scrawler(*CRAWL, "--machines", "2").stderr
    assert "all 8 seeds have ended (completed: 7, no-address: 1), " in said
    assert "`--retry no-address` lets those go on that failed" in said


def test_seeds_that_are_all_at_private_addresses_get_a_hint(scrawler: Scrawler, seed_file: Path) -> None:
    scrawler("import", "seeds.txt")
    public = [flag for flag in CRAWL if flag != "--allow-private"]
    said = scrawler(*public).stderr
    assert "all 7 seeds are at private addresses" in said
    advice = said.partition("the same command again with `")[2].partition("`")[0].split()
    assert advice == ["--allow-private", "--retry", "private-address"]
    assert "seeds completed  7" in scrawler(*public, *advice).stdout


def test_a_crawl_is_named_until_it_is_run(scrawler: Scrawler, rows: Rows, seed_file: Path) -> None:
    scrawler("import", "seeds.txt", "--name", "first")
    scrawler("import", "seeds.txt", "--name", "one")
    scrawler("import", "seeds.txt")
    assert rows("status")[0]["crawl"] == "one"
    assert "crawl one ended" in scrawler(*CRAWL, "--name", "one").stdout
    for command in ([*CRAWL], [*CRAWL, "--machines", "2"], ["import", "seeds.txt"]):
        said = scrawler(*command, "--name", "two", code=4).stderr
        assert "holds the crawl one, which cannot be called two once it was run" in said
    assert "crawl one ended" in scrawler(*CRAWL).stdout
