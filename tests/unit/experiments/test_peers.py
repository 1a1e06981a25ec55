"""The crawlers that are compared: their commands and configuration, and what is made of the server's log."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from experiments.competitors import built, java
from experiments.competitors.built import BuiltProgram
from experiments.competitors.colly import Colly
from experiments.competitors.environment import PythonEnvironment
from experiments.competitors.heritrix import Heritrix
from experiments.competitors.java import MavenProgram
from experiments.competitors.nutch import Nutch
from experiments.competitors.peer import Task
from experiments.competitors.roster import peers
from experiments.competitors.scrawler import SCrawler
from experiments.competitors.spider import Spider
from experiments.competitors.turns import Turn, in_turn, most_at_once, pause_at_sites, ratio_text, ratios, rows_of
from experiments.competitors.webs import Answer
from experiments.competitors.wget2 import Wget2
from experiments.lab.process import Figures
from experiments.peers import others_text

SEEDS = ["http://127.10.0.1:8400/?a=1&b=2", "http://127.10.0.2:8400/en/index.html"]
BEANS = "{http://www.springframework.org/schema/beans}"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return _task(tmp_path)


def _task(folder: Path, gentle: bool = False, delay: float = 0.0) -> Task:
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(f"{url}\n" for url in SEEDS))
    return Task(folder, seeds, gentle, delay)


def _values(bean: Xml.Element) -> dict[str | None, str | None]:
    return {entry.get("name"): entry.get("value") for entry in bean.findall(f"{BEANS}property")}


def _home(folder: Path, program: str) -> str:
    (folder / "home" / "bin").mkdir(parents=True)
    (folder / "home" / program).touch()
    return str(folder / "home")


def test_every_crawler_has_a_name_of_its_own_and_says_how_it_works() -> None:
    names = [peer.name for peer in peers()]
    assert len(set(names)) == len(names)
    assert all(peer.settings and peer.habits.works_as for peer in peers())


def test_nutch_needs_its_folder_and_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _programs(tmp_path / "tools", monkeypatch, "java")
    monkeypatch.delenv("NUTCH_HOME", raising=False)
    assert Nutch().why_not() == "NUTCH_HOME names no folder"
    monkeypatch.setenv("NUTCH_HOME", str(tmp_path))
    assert str(tmp_path) in (Nutch().why_not() or "")
    monkeypatch.setenv("NUTCH_HOME", _home(tmp_path, "bin/crawl"))
    assert Nutch().why_not() is None
    _programs(tmp_path / "none", monkeypatch)
    assert "java is not installed" in (Nutch().why_not() or "")


def _programs(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let no programs be found but some that do nothing."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_jars_that_are_missing_are_told_with_what_is_needed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "BUILT", tmp_path)
    program = MavenProgram("thing", "a.group:thing:1.0")
    for number, (tools, told) in enumerate(
        [((), "java is not installed"), (("java",), "mvn is not installed"), (("java", "mvn"), "thing is not fetched")]
    ):
        _programs(tmp_path / str(number), monkeypatch, *tools)
        assert told in (program.why_not() or "")

    jars = [tmp_path / "one.jar", tmp_path / "two.jar"]
    jars[0].touch()
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "classpath.txt").write_text(":".join(map(str, jars)))
    assert "is not fetched" in (program.why_not() or ""), "a jar has gone"
    jars[1].touch()
    assert program.why_not() is None
    assert program.command("a.Main", "-Xmx1g") == ["java", "-Xmx1g", "-cp", ":".join(map(str, jars)), "a.Main"]


def test_maven_is_asked_for_an_artefact_and_for_others_in_another_version(tmp_path: Path) -> None:
    java.write_xml(tmp_path / "pom.xml", MavenProgram("thing", "a.group:thing:1.0", ["b.group:part:2.1"]).pom())
    pom = "{http://maven.apache.org/POM/4.0.0}"
    root = Xml.parse(tmp_path / "pom.xml").getroot()
    assert root.tag == f"{pom}project"
    (wanted,) = root.findall(f"{pom}dependencies/{pom}dependency")
    (instead,) = root.findall(f"{pom}dependencyManagement/{pom}dependencies/{pom}dependency")
    assert [part.text for part in wanted] == ["a.group", "thing", "1.0"]
    assert [part.text for part in instead] == ["b.group", "part", "2.1"]


def test_a_program_is_built_once_and_again_when_its_sources_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "programs" / "thing" / "src"
    sources.mkdir(parents=True)
    (sources / "main").write_text("one")
    monkeypatch.setattr(built, "PROGRAMS", tmp_path / "programs")
    monkeypatch.setattr(built, "BUILT", tmp_path / "built")
    program = BuiltProgram("thing", ["cp", "src/main", "program"], "program")

    assert "thing is not built" in (program.why_not() or "")
    program.install()
    assert program.why_not() is None
    (sources / "main").write_text("two")
    assert "thing is not built" in (program.why_not() or "")
    program.install()
    assert program.why_not() is None
    assert Path(program.path).read_text() == "two"


def test_a_program_that_cannot_be_built_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs" / "thing").mkdir(parents=True)
    monkeypatch.setattr(built, "PROGRAMS", tmp_path / "programs")
    monkeypatch.setattr(built, "BUILT", tmp_path / "built")
    no_tool = BuiltProgram("thing", ["no-such-tool"], "program")
    no_tool.install()
    assert no_tool.why_not() == "no-such-tool is not installed, which builds thing"
    fails = BuiltProgram("thing", ["false"], "program")
    fails.install()
    assert "thing is not built" in (fails.why_not() or "")


@pytest.mark.parametrize(("gentle", "queues"), [(False, "8"), (True, "1")], ids=["fast", "gentle"])
def test_heritrix_job_is_whole(tmp_path: Path, gentle: bool, queues: str) -> None:
    Heritrix().prepare(_task(tmp_path, gentle))
    root = Xml.parse(tmp_path / "jobs" / "peers" / "crawler-beans.cxml").getroot()
    assert root.tag == f"{BEANS}beans"
    beans = {bean.get("id"): bean for bean in root.findall(f"{BEANS}bean")}
    assert {ref.get("bean") for ref in root.iter(f"{BEANS}ref")} <= set(beans)
    (seeds,) = beans["seeds"].iter(f"{BEANS}value")
    assert (seeds.text or "").split() == SEEDS
    hosts, refused = beans["scope"].iter(f"{BEANS}value")
    assert (hosts.text or "").split() == ["http://127.10.0.1:8400/", "http://127.10.0.2:8400/"]
    assert re.fullmatch(refused.text or "", "http://h/a.PNG")
    assert not re.fullmatch(refused.text or "", "http://h/a.html?of=.png&b")
    assert _values(beans["queueAssignmentPolicy"]) == {"parallelQueues": queues}
    assert _values(beans["crawlController"])["pauseAtStart"] == "false"
    assert set(_values(beans["disposition"]).values()) == {"0"}  # delays
    assert _values(beans["extractorHtml"])["extractJavascript"] == "false"
    assert _values(beans["metadata"])["robotsPolicyName"] == "obey"
    assert next(beans["dispositionProcessors"].iter(f"{BEANS}ref")).get("bean") == "warcWriter"


def test_heritrix_waits_between_two_pages_of_a_site(tmp_path: Path) -> None:
    Heritrix().prepare(_task(tmp_path, gentle=True, delay=1.5))
    root = Xml.parse(tmp_path / "jobs" / "peers" / "crawler-beans.cxml").getroot()
    (disposition,) = (bean for bean in root.findall(f"{BEANS}bean") if bean.get("id") == "disposition")
    assert _values(disposition) == {"delayFactor": "0", "minDelayMs": "1500", "maxDelayMs": "1500"}


def test_programs_are_told_how_many_requests_a_site_gets_and_how_far_apart(tmp_path: Path) -> None:
    fast, polite = _task(tmp_path), _task(tmp_path, gentle=True, delay=1.5)
    assert Colly().command(fast)[2:4] == ["8", "0s"]
    assert Colly().command(polite)[2:4] == ["1", "1.5s"]
    assert Spider().command(fast)[2:4] == ["8", "0"]
    assert Spider().command(polite)[2:4] == ["1", "1500"]
    refused = re.compile(Colly().command(fast)[4])
    assert refused.search("http://h/a.PNG?x")
    assert not refused.search("http://h/a.html?of=.png&b")


@pytest.mark.parametrize(("gentle", "threads"), [(False, "8"), (True, "1")], ids=["fast", "gentle"])
def test_nutch_settings_seeds_and_filter(tmp_path: Path, gentle: bool, threads: str) -> None:
    Nutch().prepare(_task(tmp_path, gentle, delay=0.5))
    root = Xml.parse(tmp_path / "conf" / "nutch-site.xml").getroot()
    values = {entry.findtext("name"): entry.findtext("value") for entry in root.findall("property")}
    assert values["fetcher.threads.per.queue"] == threads
    assert values["fetcher.server.delay"] == values["fetcher.server.min.delay"] == "0.5"
    assert values["db.ignore.external.links"] == "true"
    assert values["db.max.outlinks.per.page"] == "-1"
    assert values["http.agent.name"]
    assert (tmp_path / "urls" / "seeds.txt").read_text().split() == SEEDS
    refused, accepted = (tmp_path / "conf" / "regex-urlfilter.txt").read_text().splitlines()
    assert refused.startswith("-") and "|png|" in refused  # noqa: PT018
    assert accepted == "+^https?://"


def test_nutch_runs_until_nothing_is_left(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUTCH_HOME", "/opt/nutch")
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    command = Nutch().command(task)
    assert command[0] == "/opt/nutch/bin/crawl"
    assert command[1:3] == ["-s", str(task.folder / "urls")]
    assert command[-2:] == [str(task.folder / "crawl"), "-1"]
    assert Nutch().environment(task)["NUTCH_CONF_DIR"] == f"{task.folder / 'conf'}:/opt/nutch/conf"
    assert Nutch().environment(task)["JAVA_HOME"] == "/opt/java"


def test_scrawler_machines_hold_all_sites_between_them(tmp_path: Path) -> None:
    task = _task(tmp_path)
    task.seeds.write_text("".join(f"http://127.10.0.{number}/\n" for number in range(1, 41)))
    one, two = SCrawler("one").command(task), SCrawler("two", machines=2).command(task)
    assert one[one.index("--seeds-per-thread") + 1] == "40"
    assert two[two.index("--seeds-per-thread") + 1] == "20"
    assert two[two.index("--machines") + 1] == "2"


def test_wget2_is_gentle_by_its_number_of_threads(tmp_path: Path) -> None:
    assert "--max-threads=16" in Wget2().command(_task(tmp_path))
    assert f"--max-threads={len(SEEDS)}" in Wget2().command(_task(tmp_path, gentle=True))


def test_an_environment_that_is_not_there_says_so() -> None:
    assert "is not installed" in (PythonEnvironment("none", distribution="no-such-thing").why_not() or "")


def _turn(number: int, peer: str, answers: list[Answer], wall: float = 2.0, failure: str = "") -> Turn:
    return Turn(number, "web", peer, Figures(0, wall, 1.0, 1 << 20, False), 2 << 20, 0.5, answers, failure)


ANSWERS = [Answer(10.0, "a", True), Answer(11.0, "b", True), Answer(11.5, "b", True), Answer(12.0, "missing", False)]


def test_pages_are_held_against_the_truth() -> None:
    (row,) = rows_of([_turn(1, "x", ANSWERS)], {"web": frozenset("bc")})
    assert (row["pages"], row["missed"], row["forbidden"], row["fetched twice"], row["requests"]) == (1, 1, 1, 1, 4)
    assert (row["pages/s"], row["CPU us/page"], row["pages/CPU s"]) == (0.5, 1e6, 1.0)
    assert (row["server us/page"], row["peak RSS MiB"], row["complete"]) == (5e5, 2.0, "yes")


def test_what_nobody_can_tell_all_crawlers_tell_together() -> None:
    other = _turn(1, "y", [Answer(10.0, "c", True)], failure="was killed after 9 s")
    rows = rows_of([_turn(1, "x", ANSWERS), other], {"web": None})
    assert [(row["pages"], row["missed"], row["complete"]) for row in rows] == [
        (2, 1, "yes"),
        (1, 2, "no: was killed after 9 s"),
    ]


def test_the_most_requests_at_a_time_are_counted_by_site() -> None:
    asked = [("http://a/1", 1.0, 3.0), ("http://a/2", 2.0, 4.0), ("http://a/3", 3.0, 5.0), ("http://b/1", 2.0, 3.0)]
    answers = [Answer(at, url, True, came) for url, came, at in asked]
    assert most_at_once(answers) == 2
    assert most_at_once(ANSWERS) == 0, "where the log does not say when a request came"


def test_the_pause_at_sites_is_the_middle_one_of_all() -> None:
    asked = [("http://a/1", 1.0), ("http://b/1", 1.5), ("http://a/2", 2.0), ("http://a/3", 5.0), ("http://b/2", 3.5)]
    assert pause_at_sites([Answer(at, url, True) for url, at in asked]) == 2.0
    assert pause_at_sites([]) == 0.0


def test_a_ratio_is_taken_within_each_round_of_both() -> None:
    turns = [_turn(number, "x", ANSWERS, wall=2.0 / number) for number in (1, 2, 3)]
    turns += [_turn(number, "y", ANSWERS, wall=2.0) for number in (1, 2)]
    rows = rows_of(turns, {"web": None})

    assert ratios(rows, "web", "x", "y", "pages/s") == pytest.approx([1.0, 2.0])
    assert ratios(rows, "web", "x", "z", "pages/s") == []


def test_a_ratio_comes_with_its_range() -> None:
    assert ratio_text([21.0, 19.5, 20.0]) == "20.00 (19.50 to 21.00, 3 rounds)"
    assert ratio_text([21.0]) == "21.00 (one round)"


def test_every_second_round_goes_backwards_and_the_slow_have_one() -> None:
    one, two, classic = SCrawler("one"), SCrawler("two", machines=2), SCrawler("classic", classic=True)
    orders = [[peer.name for peer in in_turn([one, classic, two], number)] for number in (1, 2, 3)]
    assert orders == [["one", "classic", "two"], ["two", "one"], ["one", "two"]]


def test_every_web_has_its_ratios_in_words() -> None:
    turns = [_turn(1, name, ANSWERS, wall) for name, wall in (("scrawler", 1.0), ("scrapy", 4.0))]
    said = others_text(rows_of(turns, {"web": None}), "web")
    assert said == "web: pages/s, scrawler over scrapy: 4.00 (one round)"


def test_speed_over_time_is_taken_in_runs_of_equally_many_pages() -> None:
    at_once = [Answer(5.0 + page / 100, str(page), True) for page in range(101)]  # 100 a second
    late = [Answer(6.0 + page / 10, str(page), True) for page in range(1, 101)]  # 10 a second
    times, speeds = _turn(1, "x", late + at_once).pages_per_second()
    assert len(times) == 20
    assert (times[9], times[-1]) == pytest.approx((1.0, 11.0))
    assert speeds == pytest.approx([100.0] * 10 + [10.0] * 10)
    assert _turn(1, "x", late[:4]).pages_per_second() == ([], [])
