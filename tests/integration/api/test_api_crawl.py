"""A crawl from Python: seeds in, runs, what is known, what is read back."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

import scrawler
from scrawler.model.events import SeedEnded
from tests.forks import machines
from tests.integration.api.conftest import ANSWERS, make, wait_for
from tests.integration.api.site import Answer, Site, chain
from tests.limits import HANGS

Done = tuple[scrawler.Crawl, Site]


def test_pages_are_rows_and_what_was_answered(done: Done) -> None:
    crawl, site = done
    pages = {page.url.removeprefix(site.root): page for page in crawl.pages()}
    assert pages.keys() == {*ANSWERS, "/gone"}
    russian = pages["/russian"]
    assert (russian.status, russian.result, russian.depth, russian.seed) == (200, "fetched", 1, site.root + "/")
    assert russian.body == ANSWERS["/russian"].body
    assert (russian.title, russian.text) == ("Привет & мир", "Слово\nдело")
    assert russian.headers["content-type"] == "text/html; charset=koi8-r"
    assert russian.dom.css_first("p").text() == "Словодело"
    assert pages["/packed"].body == b"<title>packed</title>" + b"x" * 5000
    assert pages["/packed"].length < 200
    assert pages["/"].links[:2] == (site.root + "/russian", site.root + "/packed")
    assert pages["/text"].text == "<just> text"
    assert pages["/text"].links == ()
    assert pages["/moved"].detail == "/twin"
    assert pages["/gone"].status == 404
    assert (pages["/gone"].referrer, pages["/"].referrer, pages["/"].seed_columns) == (site.root + "/", "", {})
    assert len({page.id for page in pages.values()}) == len(pages)


def test_a_revisit_has_the_body_of_its_original(done: Done) -> None:
    crawl, site = done
    twins = [crawl.page(site.root + path) for path in ("/twin", "/late/twin")]
    assert sorted(page.revisit for page in twins) == [False, True]
    assert [page.body for page in twins] == [ANSWERS["/twin"].body] * 2


def test_a_crawl_answers_as_the_command_line_does(done: Done, tmp_path: Path) -> None:
    crawl, site = done
    (seed,) = crawl.seeds(state="done")
    assert (seed.url, seed.end_reason, seed.pages) == (site.root + "/", "completed", 6)
    assert list(crawl.seeds(state="ready")) == []
    assert [page.url for page in crawl.pages(result="http-error")] == [site.root + "/gone"]
    assert len(list(crawl.pages(seed.url, result=("fetched", "redirect")))) == 7
    assert crawl.why(site.root + "/gone").outcome == "http-error"
    assert crawl.read(site.root + "/twin") == ANSWERS["/twin"].body
    assert crawl.status().pages == 6
    report = crawl.report(html=tmp_path / "report.html")
    assert report.as_json()["totals"]["pages"] == 6
    assert "\n  pages         6\n" in str(report)
    assert "<h1>Report on " in (tmp_path / "report.html").read_text()
    assert str(crawl.why(site.root + "/gone")).startswith(f"{site.root}/gone: http-error\n  page  asked for, and ")
    assert crawl.export(tmp_path / "out.jsonl", pages=True).pages == 8
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 9


def test_what_is_not_there_is_told(done: Done, tmp_path: Path) -> None:
    crawl, site = done
    with pytest.raises(scrawler.NotCrawledError, match="is no page of this crawl"):
        crawl.read(site.root + "/nowhere")
    with pytest.raises(scrawler.InputError, match="is no seed"):
        next(crawl.pages(seed=site.root + "/twin"))
    with pytest.raises(scrawler.SettingsError, match="result 'fetch' is not allowed"):
        crawl.pages(result="fetch")
    with pytest.raises(scrawler.SettingsError, match="retry cut is not allowed, only "):
        crawl.run(retry="cut")
    with pytest.raises(scrawler.SettingsError, match="state 'finished' is not allowed, only ready, active, slow, done"):
        crawl.seeds(state="finished")
    with pytest.raises(scrawler.SettingsError, match="end_reason 'over' is not allowed, only "):
        crawl.export(tmp_path / "out.txt", end_reason="over")
    with pytest.raises(scrawler.SettingsError, match="only 'pages' is not allowed, only seed, candidate, page"):
        crawl.export(tmp_path / "out.txt", only="pages")
    with pytest.raises(scrawler.SettingsError, match="format 'parquet' is not allowed, only txt, csv, jsonl"):
        crawl.add(tmp_path / "seeds", format="parquet")
    with pytest.raises(scrawler.SettingsError, match="the crawl's database"):
        crawl.export(crawl.settings.db.removeprefix("sqlite:///"), format="txt")
    with pytest.raises(scrawler.StoreError, match="there is no database"):
        scrawler.Crawl(tmp_path / "none.db", create=False).report()


def test_a_record_that_is_gone_is_told_when_it_is_read(done: Done, tmp_path: Path) -> None:
    crawl, site = done
    (file,) = crawl.settings.pages_dir.glob("*.warc.gz")
    page = crawl.page(site.root + "/text")
    file.rename(tmp_path / file.name)
    try:
        with pytest.raises(scrawler.RecordsLostError, match="its record is gone"):
            _ = page.body
    finally:
        (tmp_path / file.name).rename(file)
    assert page.body == b"<just> text"


def test_a_page_can_be_pickled_and_is_read_in_another_process(done: Done) -> None:
    crawl, site = done
    pages = [crawl.page(site.root + path) for path in ("/text", "/late/twin", "/gone")]
    assert [page.dom.css_first("body") is not None for page in pages]  # trees cannot be pickled, and are made anew
    program = (
        "import pickle, sys\n"
        "for page in pickle.load(sys.stdin.buffer):\n"
        "    print(page.url, page.id, page.status, page.body)"
    )
    done_there = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(pages), capture_output=True, check=True, timeout=HANGS
    )
    expected = [f"{page.url} {page.id} {page.status} {page.body!r}" for page in pages]
    assert done_there.stdout.decode().splitlines() == expected
    here = [pickle.loads(pickle.dumps(page)) for page in pages]
    assert [page.body for page in here] == [page.body for page in pages]


def test_settings_are_those_of_the_command_line_as_text_or_as_python_has_them(tmp_path: Path) -> None:
    one = scrawler.Crawl(tmp_path / "a.db", delay="2s", max_body="8MiB", accept="text/html,image/*", robots="no")
    other = scrawler.Crawl(
        str(tmp_path / "a.db"),
        delay=timedelta(seconds=2),
        max_body=8 << 20,
        accept=["text/html", "image/*"],
        robots=False,
    )
    assert one.settings == other.settings
    assert one.settings.db == f"sqlite:///{tmp_path / 'a.db'}"
    assert scrawler.Crawl("mysql://user:word@host/name").settings.db == "mysql://user:word@host/name"
    with pytest.raises(scrawler.SettingsError, match="unknown setting 'dealy'; did you mean delay"):
        scrawler.Crawl(tmp_path / "a.db", dealy=2)
    with pytest.raises(scrawler.SettingsError, match=r"delay=soon is not allowed, only a time such as"):
        scrawler.Crawl(tmp_path / "a.db", delay="soon")


def test_neither_file_nor_variables_are_read_unless_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scrawler.toml").write_text("threads = 7\n")
    monkeypatch.setenv("SCRAWLER_DELAY", "5s")
    plain = scrawler.Crawl("crawl.db").settings
    assert (plain.threads, plain.delay) == (20, 1.0)
    read = scrawler.Crawl(settings=scrawler.load_settings({}), per_site=3).settings
    assert (read.threads, read.delay, read.per_site) == (7, 5.0, 3)


def test_relative_paths_are_those_of_the_folder_in_which_the_crawl_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crawl = scrawler.Crawl("crawl.db", pages_dir="archive")
    monkeypatch.chdir("/")
    with crawl:
        assert (tmp_path / "crawl.db").exists()
    assert crawl.settings.pages_dir == tmp_path / "archive"
    assert crawl.export_file == str(tmp_path / "output_urls" / "crawl.txt")


def test_seeds_come_from_files_texts_and_iterables(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.example/\nno url\n")
    told = []
    with make(tmp_path) as crawl:
        counts = crawl.add(tmp_path / "seeds.txt", on_invalid=told.append)
        assert (counts.new, counts.invalid) == (1, 1)
        assert told[0].text == "no url"
        assert crawl.add(f"http://{name}.example/" for name in "abc").new == 2
        assert crawl.add("http://d.example/").new == 1
        assert crawl.add("HTTP://D.example/").duplicate == 1, "a scheme may be written in any case"
        assert crawl.add([]).entries == 0
        with pytest.raises(scrawler.InputError, match="no usable seed among the 2 given"):
            crawl.add(["nothing", "ftp://a.example/"])
        with pytest.raises(scrawler.InputError, match="no such file"):
            crawl.add("nowhere.txt")
        assert [seed.url for seed in crawl.seeds()] == [f"http://{name}.example/" for name in "abcd"]


def test_each_page_is_given_once_in_the_thread_of_the_caller_whatever_the_machines(
    tmp_path: Path, database_url: str
) -> None:
    def url_of(page: scrawler.Page) -> dict[str, str]:
        return {"url": page.url}

    got: list[tuple[str, int]] = []
    told: list[scrawler.Event] = []
    with Site({f"/s{seed}{path}": one for seed in range(3) for path, one in chain(4).items()}) as site:
        with make(tmp_path, max_depth=0, db=database_url) as crawl:
            crawl.add(f"{site.root}/s{seed}/{number}" for seed in range(3) for number in range(4))
            summary = crawl.run(
                machines=2,
                on_page=lambda page: got.append((page.url, threading.get_ident())),
                on_event=told.append,
                processors=[url_of],
                items=tmp_path / "items.jsonl",
            )
            items = [json.loads(line)["url"] for line in (tmp_path / "items.jsonl").read_text().splitlines()]
            assert sorted(items) == sorted(url for url, _ in got)
        assert (summary.outcome, summary.pages, len(summary.machines)) == ("ended", 12, 2)
        assert sorted(url for url, _ in got) == sorted(f"{site.root}/s{s}/{n}" for s in range(3) for n in range(4))
        assert {thread for _, thread in got} == {threading.get_ident()}
    kinds = Counter(type(event).__name__ for event in told)
    committing = kinds.pop("Checkpoint")
    assert committing >= 1
    assert kinds == {"SeedBegun": 12, "SeedEnded": 12, "MachineJoined": 2, "MachineEnded": 2}
    assert all(str(event).split()[0] in ("seed", "machine") for event in told)


def test_what_a_callback_raises_ends_the_crawl_cleanly(tmp_path: Path, chained: Site) -> None:
    def refuse(page: scrawler.Page) -> None:
        chained.opened.set()
        raise LookupError(page.url)

    with make(tmp_path) as crawl:
        crawl.add([chained.root + "/0"])
        with pytest.raises(LookupError, match="/0"):
            crawl.run(on_page=refuse)
        assert machines() == set()
        assert [machine.state for machine in crawl.status().machines] == ["stopped"]


def test_stop_ends_a_run_of_another_thread_or_the_next_one_and_then_it_goes_on(tmp_path: Path, chained: Site) -> None:
    ended: list[scrawler.RunSummary] = []
    with make(tmp_path) as crawl:
        crawl.add([chained.root + "/0"])
        crawl.stop()
        assert crawl.run().outcome == "stopped", "a stop that comes too early is not lost"
        assert not chained.asked
        running = threading.Thread(target=lambda: ended.append(crawl.run()))
        running.start()
        assert chained.held.wait(HANGS)
        with pytest.raises(scrawler.ScrawlerError, match="is being run already"):
            crawl.run()
        crawl.stop()
        wait_for(lambda: any(one.state == "stopping" for one in crawl.status().machines))
        chained.opened.set()
        running.join(HANGS)
        assert ended[0].outcome == "stopped"
        assert crawl.run().outcome == "ended"
    assert chained.asked["/0"] == 1


def test_machines_take_orders_as_from_the_command_line(tmp_path: Path, chained: Site) -> None:
    with make(tmp_path) as crawl:
        crawl.add([chained.root + "/0"])
        assert crawl.set(delay="1s", max_pages=100, retries=0) == {"delay": 1.0, "max_pages": 100, "retries": 0}
        assert crawl.set(max_pages=None, delay=0, retries=None) == {"delay": 0.0}
        assert crawl.set("*.example.org", delay="2s") == crawl.set()
        assert crawl.set()["sites"] == {"*.example.org": {"delay": 2.0}}
        for wrong in ({"threads_of": 1}, {"db": "x"}, {"delay": "soon"}):
            with pytest.raises(scrawler.SettingsError):
                crawl.set(**wrong)
        with pytest.raises(scrawler.SettingsError, match="holds for the whole crawl"):
            crawl.set("a.example", threads=3)
        assert crawl.pause() == []
        running = threading.Thread(target=crawl.run)
        running.start()
        wait_for(lambda: any(one.state == "paused" for one in crawl.status().machines))
        assert not chained.asked
        (name,) = crawl.resume()
        assert chained.held.wait(HANGS)
        with pytest.raises(scrawler.StoreError, match="no running machine nobody"):
            crawl.pause("nobody")
        assert crawl.stop_machines([name]) == [name]
        wait_for(lambda: any(one.state == "stopping" for one in crawl.status().machines))
        chained.opened.set()
        running.join(HANGS)
        assert [one.state for one in crawl.status().machines] == ["stopped"]


def test_kill_ends_a_run_though_a_page_hangs(tmp_path: Path, chained: Site) -> None:
    ended: list[str] = []

    def work() -> None:
        with pytest.raises(scrawler.ScrawlerError) as told:
            crawl.run()
        ended.append(str(told.value))

    with make(tmp_path, say=lambda line: None) as crawl:
        crawl.add([chained.root + "/0"])
        running = threading.Thread(target=work)
        running.start()
        assert chained.held.wait(HANGS)
        crawl.kill()
        running.join(HANGS)
        assert ended == ["machine 1 of 1 was killed by SIGKILL while it was stopping"]
        assert machines() == set()


def test_who_names_no_contact_is_told_so(tmp_path: Path) -> None:
    told: list[str] = []
    with make(tmp_path, user_agent="Nobody/1.0", say=told.append) as crawl:
        crawl.stop()
        crawl.run()
    assert told[0].startswith("warning: the user agent 'Nobody/1.0' has no contact")


def test_a_machine_that_is_killed_is_started_again_and_no_page_is_lost_or_given_twice(
    tmp_path: Path, chained: Site
) -> None:
    got: list[str] = []
    told: list[scrawler.Event] = []

    def kill_once(page: scrawler.Page) -> None:
        got.append(page.url)
        if len(got) == 1:
            assert chained.held.wait(HANGS)
            (machine,) = machines()
            os.kill(machine, 9)
            chained.opened.set()

    with make(tmp_path, say=lambda line: None) as crawl:
        crawl.add([chained.root + "/0"])
        summary = crawl.run(on_page=kill_once, on_event=told.append)
    assert (summary.outcome, summary.restarts) == ("ended", 1)
    assert sorted(got) == sorted(f"{chained.root}/{number}" for number in range(6))
    assert sum(isinstance(event, scrawler.events.MachineDied) for event in told) == 1


def test_what_would_meet_every_machine_is_raised_to_the_caller(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("no folder")
    with Site(chain(1)) as site, make(tmp_path) as crawl:
        crawl.add([site.root + "/0"])
        with pytest.raises(scrawler.ScrawlerError, match="pages"):
            crawl.run()
        assert machines() == set()
        with pytest.raises(scrawler.SettingsError, match="retry sometimes is not allowed"):
            crawl.run(retry=["sometimes"])


def test_a_crawl_of_the_command_line_is_the_same_crawl(done: Done, tmp_path: Path) -> None:
    crawl, site = done
    rows = [json.loads(line) for line in _command(crawl, "pages", "--seed", site.root + "/", "--json").splitlines()]
    assert {row["url"] for row in rows} == {page.url for page in crawl.pages()}


def _command(crawl: scrawler.Crawl, *words: str) -> str:
    command = [sys.executable, "-m", "scrawler", *words, "--db", crawl.settings.db]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_events_go_to_the_log_of_who_wants_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Site(ANSWERS) as site, make(tmp_path) as crawl:
        crawl.add(site.root + "/")
        with caplog.at_level("INFO", "scrawler"):
            crawl.run()
    records = [record for record in caplog.records if isinstance(getattr(record, "event", None), SeedEnded)]
    (ended,) = map(vars, records)
    assert ended["seed"] == site.root + "/"
    assert ended["site"] in site.root
    assert ended["machine"] == crawl.status().machines[0].name
    assert logging.getLogger("scrawler").handlers == []


def test_a_giant_page_takes_no_more_memory_than_its_body(tmp_path: Path) -> None:
    giant = b"<p>" + b"many words " * ((17 << 20) // 11) + b"<h1>far</h1>"
    with Site({"/": Answer(giant)}) as site, make(tmp_path, max_body="32MiB", max_decoded="32MiB") as crawl:
        crawl.add(site.root + "/")
        crawl.run()
        (page,) = crawl.pages()
        assert page.body == giant
        tracemalloc.start()
        try:
            html = page.html
            assert html.endswith("far</h1>")
            del html
            kept, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept < len(giant) // 4 < most
        assert page.dom.css_first("h1") is None
        assert len(page.text) < 16 << 20
