"""Heritrix 3 with the jars of Maven Central, and a job of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urljoin
from xml.etree import ElementTree as Xml

from experiments.competitors.java import MavenProgram, write_xml
from experiments.competitors.peer import Habits, Peer, Task
from scrawler.urls.filetype import NOT_DOCUMENTS

# The Berkeley DB that it asks for is not on Maven Central, this newer one is.
_PROGRAM = MavenProgram("heritrix", "org.archive.heritrix:heritrix-engine:3.13.0", instead=["com.sleepycat:je:18.3.12"])
_JOB = "peers"
_LOGIN = "admin:for-this-run"  # of a web interface on the loopback address that is not used
_ANY_PORT = "0"
_TOE_THREADS = 50
_PER_SITE = 8
_SPRING = "http://www.springframework.org/schema/"
_PACKAGES = {"crawler": "org.archive.crawler.", "modules": "org.archive.modules."}

# Beans that are as Heritrix's profile has them: id, package, class.
_PLAIN = (
    ("candidateScoper", "crawler", "prefetch.CandidateScoper"),
    ("preselector", "crawler", "prefetch.Preselector"),
    ("preconditions", "crawler", "prefetch.PreconditionEnforcer"),
    ("fetchDns", "modules", "fetcher.FetchDNS"),
    ("fetchHttp", "modules", "fetcher.FetchHTTP"),
    ("extractorHttp", "modules", "extractor.ExtractorHTTP"),
    ("extractorJs", "modules", "extractor.ExtractorJS"),  # the one for HTML wants it, and does not use it here
    ("warcWriter", "modules", "writer.WARCWriterChainProcessor"),
    ("candidates", "crawler", "postprocessor.CandidatesProcessor"),
    ("frontier", "crawler", "frontier.BdbFrontier"),
    ("uriUniqFilter", "crawler", "util.BdbUriUniqFilter"),
    ("loggerModule", "crawler", "reporting.CrawlerLoggerModule"),
    ("crawlLimiter", "crawler", "framework.CrawlLimitEnforcer"),
    ("checkpointService", "crawler", "framework.CheckpointService"),
)
_CHAINS = (
    ("candidateProcessors", "CandidateChain", ("candidateScoper", "preparer")),
    (
        "fetchProcessors",
        "FetchChain",
        ("preselector", "preconditions", "fetchDns", "fetchHttp", "extractorHttp", "extractorHtml"),
    ),
    ("dispositionProcessors", "DispositionChain", ("warcWriter", "candidates", "disposition")),
)


class Heritrix(Peer):
    """Heritrix 3 with one job, which it begins at once and after which it ends."""

    name = "heritrix"
    slow = True
    settings = (
        f"{_TOE_THREADS} toe threads; {_PER_SITE} queues a site (gentle and broad: 1) of one request at a time; delays "
        "0 (broad: its own); scope: the seeds' hosts; no files; links of HTML and headers only, none guessed from "
        "scripts; robots.txt obeyed; WARC written; Java heap of 1 GiB"
    )
    habits = Habits(
        works_as=f"one process, {_TOE_THREADS} threads",
        robots="obeyed",
        at_a_time=f"{_PER_SITE} (gentle: 1)",
        keeps="WARC, Berkeley DB, logs",
        resumes="from its last checkpoint or its recovery log, if told to",
    )

    def why_not(self) -> str | None:
        """Tell whether its jars are missing."""
        return _PROGRAM.why_not()

    def install(self) -> None:
        """Fetch its jars."""
        _PROGRAM.install()

    def prepare(self, task: Task) -> None:
        """Write the job."""
        job = task.folder / "jobs" / _JOB
        job.mkdir(parents=True)
        beans = _beans(task.urls(), 1 if task.gentle else _PER_SITE, round(task.delay * 1000))
        write_xml(job / "crawler-beans.cxml", beans)

    def command(self, task: Task) -> list[str]:
        """Return the command that runs the job; --run-job also takes it out of the pause in which jobs begin."""
        program = _PROGRAM.command("org.archive.crawler.Heritrix", "-Xmx1g")
        options = ["--web-admin", _LOGIN, "--web-port", _ANY_PORT, "--jobs-dir", str(task.folder / "jobs")]
        return [*program, *options, "--run-job", _JOB]


def _beans(seeds: Sequence[str], per_site: int, delay_ms: int) -> Xml.Element:
    """Return the Spring configuration of a job that crawls the hosts of some seeds as fast as it can."""
    root = Xml.Element(
        "beans",
        {
            "xmlns": f"{_SPRING}beans",
            "xmlns:context": f"{_SPRING}context",
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": " ".join(
                f"{_SPRING}{part} {_SPRING}{part}/spring-{part}-3.0.xsd" for part in ("beans", "context")
            ),
        },
    )
    Xml.SubElement(root, "context:annotation-config")
    root.extend(_bean(name, _PACKAGES[package] + kind) for name, package, kind in _PLAIN)
    root.extend(_settings(per_site, delay_ms))
    root.extend((_seeds(seeds), _scope(seeds)))
    for name, kind, parts in _CHAINS:
        chain = _bean(name, f"org.archive.modules.{kind}")
        _property_list(chain, "processors").extend(Xml.Element("ref", {"bean": part}) for part in parts)
        root.append(chain)
    return root


def _settings(per_site: int, delay_ms: int) -> Iterator[Xml.Element]:
    """Yield the beans that have values of their own."""
    yield _bean(
        "metadata",
        "org.archive.modules.CrawlMetadata",
        autowire="byName",
        jobName=_JOB,
        operatorContactUrl="http://localhost/experiment",
        robotsPolicyName="obey",
    )
    yield _bean(
        "disposition",
        "org.archive.crawler.postprocessor.DispositionProcessor",
        delayFactor="0",
        minDelayMs=str(delay_ms),
        maxDelayMs=str(delay_ms),
    )
    yield _bean(
        "crawlController",
        "org.archive.crawler.framework.CrawlController",
        maxToeThreads=str(_TOE_THREADS),
        pauseAtStart="false",
    )
    yield _bean(
        "queueAssignmentPolicy",
        "org.archive.crawler.frontier.SurtAuthorityQueueAssignmentPolicy",
        parallelQueues=str(per_site),
    )
    yield _bean(
        "extractorHtml",
        "org.archive.modules.extractor.ExtractorHTML",
        extractJavascript="false",
        extractValueAttributes="false",
    )
    preparer = _bean("preparer", "org.archive.crawler.prefetch.FrontierPreparer")
    policy = Xml.SubElement(preparer, "property", {"name": "queueAssignmentPolicy"})
    Xml.SubElement(policy, "ref", {"bean": "queueAssignmentPolicy"})
    yield preparer
    yield _bean("statisticsTracker", "org.archive.crawler.reporting.StatisticsTracker", autowire="byName")
    yield _bean("sheetOverlaysManager", "org.archive.crawler.spring.SheetOverlaysManager", autowire="byType")
    yield _bean("bdb", "org.archive.bdb.BdbModule")
    yield _bean("cookieStore", "org.archive.modules.fetcher.BdbCookieStore")
    yield _bean("serverCache", "org.archive.modules.net.BdbServerCache")
    yield _bean("configPathConfigurer", "org.archive.spring.ConfigPathConfigurer")


def _seeds(seeds: Sequence[str]) -> Xml.Element:
    module = _bean("seeds", "org.archive.modules.seeds.TextSeedModule")
    _text(module, "textSource", seeds)
    return module


def _scope(seeds: Sequence[str]) -> Xml.Element:
    """Accept what is on a seed's host and no file, and what must be fetched before a page can be (its robots.txt)."""
    rules = "org.archive.modules.deciderules."
    scope = _bean("scope", f"{rules}DecideRuleSequence")
    kinds = (
        "RejectDecideRule",
        "surt.SurtPrefixedDecideRule",
        "MatchesListRegexDecideRule",
        "PrerequisiteAcceptDecideRule",
    )
    sequence = [Xml.Element("bean", {"class": rules + kind}) for kind in kinds]
    _, hosts, files, _ = sequence
    # Not the seeds themselves: a seed in a folder stands for that folder alone.
    Xml.SubElement(hosts, "property", {"name": "seedsAsSurtPrefixes", "value": "false"})
    _text(hosts, "surtsSource", [urljoin(seed, "/") for seed in seeds])
    Xml.SubElement(files, "property", {"name": "decision", "value": "REJECT"})
    refused = Xml.SubElement(_property_list(files, "regexList"), "value")
    refused.text = rf"(?i).*\.(?:{'|'.join(sorted(NOT_DOCUMENTS))})$"
    _property_list(scope, "rules").extend(sequence)
    return scope


def _text(bean: Xml.Element, name: str, lines: Sequence[str]) -> None:
    """Give a bean a property that is read as a file of so many lines."""
    source = Xml.SubElement(bean, "property", {"name": name})
    text = Xml.SubElement(source, "bean", {"class": "org.archive.spring.ConfigString"})
    value = Xml.SubElement(Xml.SubElement(text, "property", {"name": "value"}), "value")
    value.text = "\n".join(("", *lines, ""))


def _bean(name: str, kind: str, autowire: str = "", **values: str) -> Xml.Element:
    bean = Xml.Element("bean", {"id": name, "class": kind} | ({"autowire": autowire} if autowire else {}))
    for key, value in values.items():
        Xml.SubElement(bean, "property", {"name": key, "value": value})
    return bean


def _property_list(bean: Xml.Element, name: str) -> Xml.Element:
    return Xml.SubElement(Xml.SubElement(bean, "property", {"name": name}), "list")
