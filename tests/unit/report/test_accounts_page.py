"""A report as an HTML page: well-formed, without script or outside resource, whatever its values say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import html5lib
import pytest

from scrawler.features.report.html import html_page
from scrawler.features.report.plots import bars, columns
from scrawler.insight.sections import Report, Section, Table, label, shown

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    "</title></style></svg></table><iframe src=//evil.example>",
    "&lt;b&gt; &#0; &nosuch; ]]>",
    "javascript:alert(1)",
    "nul\0 bell\a escape\x1b[31m \ufffe \ud800 \u202e\u2067",
    "ü 漢 😀" + "x" * 100,
    "",
]
SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"


def hostile_report() -> Report:
    rows = [(text, number, number * 10) for number, text in enumerate(HOSTILE)]
    tables = (
        Table("bars", "Bars of <b>", ("kind", "pages", "bytes"), rows, "pages"),
        Table("scale", "Scale", ("kind", "pages", "bytes"), rows, "bytes", ordered=True),
        Table("empty", "Nothing", ("kind", "pages"), [], "pages"),
    )
    values = {f"value{number}": text for number, text in enumerate(HOSTILE)}
    parts = (Section("one", "One", values, tables), Section("none", "None"), Section("two", "Two", {"pages": 1}))
    return Report(HOSTILE[0], 1_790_000_000_000, parts)


def elements(page: str) -> Iterator[ElementTree.Element]:
    return iter(html5lib.HTMLParser(strict=True).parse(page).iter())


def test_nothing_in_a_report_becomes_markup() -> None:
    page = "".join(html_page(hostile_report()))
    names = {str(element.tag).rpartition("}")[2] for element in elements(page)}
    assert not names & {"script", "img", "iframe", "link", "object", "form", "base", "b"}
    for element in elements(page):
        assert not [name for name in element.attrib if str(name).startswith("on") or name == "src"]
    assert {element.attrib["href"] for element in elements(page) if "href" in element.attrib} == {"#one", "#two"}
    cells = [element.text or "" for element in elements(page) if element.tag == f"{HTML}td"]
    for text in HOSTILE:
        clean = re.sub("[\0\a\x1b\ufffe\ud800]", "\ufffd", text).replace("\u202e\u2067", r"\u202e\u2067")
        assert (clean or "-") in cells
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in page
    assert "@import" not in page


def page_of(*tables: Table) -> str:
    return "".join(html_page(Report("it", 0, (Section("one", "One", tables=tables),))))


def test_what_is_long_is_bounded() -> None:
    url = f"https://example.org/{'x' * 10_000}/end"
    page = page_of(Table("urls", "URLs", ("url", "pages"), [(url, "\n".join([url] * 3))]))
    assert len(page) < len(page_of(Table("urls", "URLs", ("url", "pages"), [("", "a")]))) + 1_500
    assert page.count("/end") == 4
    many = page_of(Table("urls", "URLs of one kind", ("url",), [("/a",)] * 41))
    assert "<summary>URLs of one kind</summary>" in many
    assert "<summary>" not in page


def test_columns_stand_where_their_kind_does() -> None:
    rows = [(404, 1_000, 1_790_000_000_000, None, 7), (None, 2, None, "x" * 30, 8)]
    page = page_of(Table("it", "It", ("status", "urls", "first_at", "detail", "bytes"), rows))
    heads = {head.text: head.attrib["class"] for head in elements(page) if head.tag == f"{HTML}th"}
    number = "few number"
    assert heads == {"status": "few", "URLs": number, "first": "few", "detail": "long", "bytes": number}


def test_a_single_bar_is_no_plot() -> None:
    assert "<svg" not in page_of(Table("it", "It", ("kind", "pages"), [("html", 3)], "pages"))
    assert "<svg" in page_of(Table("it", "It", ("kind", "pages"), [("html", 3), ("pdf", 1)], "pages"))


@pytest.mark.parametrize("draw", [bars, columns])
def test_plots_are_well_formed_and_tell_what_they_show(draw: type) -> None:
    points = [(text, float(number), f"{number} pages") for number, text in enumerate(HOSTILE)]
    plot = ElementTree.fromstring(draw("name", "Title <&>", points))
    assert plot.attrib["role"] == "img"
    named = {element.attrib["id"]: element.text or "" for element in plot if "id" in element.attrib}
    assert plot.attrib["aria-labelledby"].split() == list(named)
    title, description = named.values()
    assert title == "Title <&>"
    assert "ü 漢 😀" in description
    assert "8 pages" in description
    sizes = [float(bar.attrib["width" if draw is bars else "height"]) for bar in plot.iter(f"{SVG}rect")]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert all(float(number) >= 0 for number in re.findall(r'[xy]="([-0-9.]+)"', ElementTree.tostring(plot).decode()))


@pytest.mark.parametrize("draw", [bars, columns])
def test_plots_of_nothing_are_well_formed(draw: type) -> None:
    ElementTree.fromstring(draw("name", "Nothing", []))
    ElementTree.fromstring(draw("name", "Zeros", [("a", 0.0, "0"), ("b", 0.0, "0")]))


def test_values_are_written_by_their_names() -> None:
    assert shown("bytes", 1_234_567) == "1.2 MB"
    assert shown("wait_ms", 90_000) == "1.5 min"
    assert shown("started_at", 0) == "1970-01-01 00:00:00 UTC"
    assert shown("internal_share", 0.125) == "12.5%"
    assert shown("pages", 1_000) == "1,000"
    assert shown("status", 404) == "404"
    assert shown("end_reason", None) == "-"
    assert label("started_at") == "started"
    assert label("http_errors") == "http errors"


def test_json_has_values_as_they_are() -> None:
    made = hostile_report().as_json()
    assert made["one"]["bars"][0] == {"kind": HOSTILE[0], "pages": 0, "bytes": 0}
    assert made["one"]["empty"] == []
    assert made["none"] == {}


def test_a_report_is_printed_as_lines_of_columns() -> None:
    table = Table("sites", "Sites", ("site", "http_errors"), [("a.example", 1200), ("\x1b[31m.example", 3)])
    sections = (Section("one", "One", {"wait_ms": 1500, "urls": 2}, (table,)), Section("none", "None"))
    report = Report("the crawl", 0, sections)
    assert str(report).splitlines() == [
        "the crawl",
        "",
        "One",
        "  wait  1.5 s",
        "  URLs  2",
        "",
        "One: Sites",
        "site              http errors",
        "a.example         1,200",
        r"\x1b[31m.example  3",
    ]


@pytest.mark.parametrize(("sent", "told"), [(0, {"links"}), (3, {"links", "urls_sent", "urls_waiting"})])
def test_people_are_not_told_of_what_a_crawl_does_not_do(sent: int, told: set[str]) -> None:
    values = {"links": 0, "urls_sent": sent, "urls_waiting": 0, "guest_pages": 0}
    section = Section("links", "Links", values, quiet=("urls_", "guest_"))
    assert section.told.keys() == told
    report = Report("the crawl", 0, (section,))
    assert ("URLs waiting" in str(report)) == ("URLs waiting" in "".join(html_page(report))) == bool(sent)
    assert report.as_json()["links"] == values
