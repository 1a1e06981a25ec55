"""A fault of this program that some answers meet, told by the commands: one machine, and two beside a good site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, Rows, Scrawler
from tests.integration.crawl.hostile import GOOD_PAGES, by_path, good, page
from tests.integration.fetch.servers import RawServer

BAD_PAGES = 8
# Read by Python as it starts, so also by the processes of machines: no answer of our own makes a fault to test with.
FAULTY = """
from scrawler.extract.lexbor import LexborExtractor
links = LexborExtractor.links

def faulty(self, body, *arguments):
    if b"poison" in body:
        raise ZeroDivisionError("all is lost")
    return links(self, body, *arguments)

LexborExtractor.links = faulty
"""


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[list[RawServer]]:
    links = tuple(f"/{number}" for number in range(BAD_PAGES))
    bad = by_path({"/": page(links=links), **{link: page(f"poison {link}") for link in links}})
    servers = [RawServer(bad), RawServer(good("well"))]
    (tmp_path / "seeds.txt").write_text("".join(f"{server.url()}\n" for server in servers))
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "sitecustomize.py").write_text(FAULTY)
    yield servers
    for server in servers:
        server.stop()


@pytest.mark.parametrize("machines", ["1", "2"])
def test_a_poisoned_seed_ends_and_no_machine_does(
    scrawler: Scrawler, rows: Rows, tmp_path: Path, sites: list[RawServer], machines: str
) -> None:
    bad, beside = (server.url() for server in sites)
    scrawler("import", "seeds.txt", "--name", "mine")  # and `run` is not told so
    done = scrawler(*CRAWL, "--extractor", "lexbor", "--machines", machines, PYTHONPATH=str(tmp_path / "faulty"))
    found = {row["url"]: row for row in rows("seeds")}
    assert found[bad]["end_reason"] == "internal-error"
    assert (found[beside]["end_reason"], found[beside]["pages"]) == ("completed", GOOD_PAGES)
    number = found[bad]["internal_errors"]
    file = Path("output_urls") / "mine.internal-errors.txt"
    told = [line.split(None, 2) for line in done.stdout.splitlines() if "internal errors" in line]
    assert told == [["internal", "errors", f"{number} in the whole crawl; tracebacks are in {file}"]]
    assert machines == "1" or "restarts 0" in " ".join(done.stdout.split())
    assert (tmp_path / file).read_text().count("ZeroDivisionError: all is lost\n") == 5, "a few of each kind are enough"
    details = {row["detail"] for row in rows("pages", "--seed", bad) if row["result"] == "internal-error"}
    assert len(details) == 1
    assert details.pop().startswith("ZeroDivisionError: all is lost, at scrawler/")
    assert f"internal errors {number}" in " ".join(scrawler("status").stdout.split())

    scrawler(*CRAWL, "--machines", machines, "--retry", "internal-error")
    found = {row["url"]: row for row in rows("seeds")}
    assert (found[bad]["end_reason"], found[bad]["pages"]) == ("completed", BAD_PAGES + 1)
    assert "internal errors" not in scrawler("status").stdout
