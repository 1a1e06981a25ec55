"""Nutch 1.x in local mode, from its folder where NUTCH_HOME names one.

Maven Central has Nutch's core alone: its plugins, without which it fetches and parses nothing, come with its archive.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as Xml

from experiments.competitors.java import java_home, path_in, why_no_folder, why_no_java, write_xml
from experiments.competitors.peer import Habits, Peer, Task
from scrawler.urls.filetype import NOT_DOCUMENTS

HOME = "NUTCH_HOME"
_THREADS = 50
_PER_SITE = 8
_UNTIL_NOTHING_IS_LEFT = "-1"  # instead of a number of rounds


class Nutch(Peer):
    """Nutch's crawl script: rounds of generate, fetch, parse, update, until a round has nothing to fetch."""

    name = "nutch"
    slow = True
    slow_to_start = True  # six programs a round, a round for each level
    settings = (
        f"bin/crawl in local mode, as many rounds as there are levels; {_THREADS} threads, {_PER_SITE} a site (gentle "
        "and broad: 1), no delay (broad: its own); all links of a page, those within the seeds' hosts; no index; "
        "robots.txt obeyed"
    )
    habits = Habits(
        works_as=f"one process a step, {_THREADS} threads",
        robots="obeyed",
        at_a_time=f"{_PER_SITE} (gentle: 1)",
        keeps="segments, crawldb, linkdb",
        resumes="from the last whole round",
    )

    def why_not(self) -> str | None:
        """Tell whether its folder is not named, or is not one, or there is no Java."""
        return why_no_folder(HOME, "bin/crawl") or why_no_java()

    def prepare(self, task: Task) -> None:
        """Write the seeds' folder and the settings."""
        urls, conf = task.folder / "urls", task.folder / "conf"
        urls.mkdir()
        (urls / "seeds.txt").write_text(task.seeds.read_text())
        conf.mkdir()
        write_xml(conf / "nutch-site.xml", _site_settings(1 if task.gentle else _PER_SITE, task.delay))
        refused = "|".join(sorted(NOT_DOCUMENTS))
        # The filter that Nutch comes with refuses every URL with a query.
        (conf / "regex-urlfilter.txt").write_text(f"-(?i)\\.(?:{refused})$\n+^https?://\n")

    def command(self, task: Task) -> list[str]:
        """Return the crawl script's command."""
        options = ["-s", str(task.folder / "urls"), "--num-threads", str(_THREADS)]
        return [path_in(HOME, "bin/crawl"), *options, str(task.folder / "crawl"), _UNTIL_NOTHING_IS_LEFT]

    def environment(self, task: Task) -> Mapping[str, str]:
        """Return where its settings are: the task's, before those of its own folder."""
        conf = f"{task.folder / 'conf'}:{path_in(HOME, 'conf')}"
        return {"NUTCH_CONF_DIR": conf, "NUTCH_LOG_DIR": str(task.folder), "JAVA_HOME": java_home()}


def _site_settings(per_site: int, delay: float) -> Xml.Element:
    """Return nutch-site.xml: what differs from Nutch's defaults."""
    values = {
        "http.agent.name": "Nutch-experiment",
        "http.content.limit": "-1",
        "db.ignore.external.links": "true",
        "db.ignore.external.links.mode": "byHost",
        "db.max.outlinks.per.page": "-1",
        "fetcher.server.delay": str(delay),
        "fetcher.server.min.delay": str(delay),  # which it has where there are several threads a site
        "fetcher.threads.per.queue": str(per_site),
        "plugin.includes": "protocol-http|urlfilter-regex|parse-html|scoring-opic|urlnormalizer-(pass|regex|basic)",
    }
    root = Xml.Element("configuration")
    for name, value in values.items():
        entry = Xml.SubElement(root, "property")
        Xml.SubElement(entry, "name").text = name
        Xml.SubElement(entry, "value").text = value
    return root
