"""A text corpus of a crawl: one row a page, with its main text, its language and the group of its near copies.

Pages come in the order of their commits, which is that of their records; of what is read, one page is in memory at a
time. Near copies are found by simhashes of the main texts: a page belongs to the group of the first page before it
whose simhash differs in at most three bits, the distance that Manku, Jain and Das Sarma (WWW 2007) found right. Only
the first page of each group is remembered, in a temporary file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

from scrawler.errors import EndlessPageError, RecordsLostError, SettingsError
from scrawler.extract.beginning import beginning
from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.shown import shown
from scrawler.extract.simhash import distance, fingerprint_of
from scrawler.extract.title import collapsed
from scrawler.insight.bounded import text_within
from scrawler.insight.contents import PageReader
from scrawler.insight.scratch import scratch, telling_of_the_file
from scrawler.model.results import Result
from scrawler.seeds.table_files import Column, Kind
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import Last, PageFilter, PageLists, PageView

_HTML = ("text/html", "application/xhtml+xml")
_PLAIN = "text/plain"
_PDF = "application/pdf"
_DISTANCE = 3  # bits in which near copies differ at most
_BANDS, _BAND_BITS = _DISTANCE + 1, 16  # one of the bands of two such simhashes is the same
_FEWEST_WORDS = 16  # distinct words of a text for which a simhash says something: others are alike only as a whole
_SURE_RANK = 1_200  # of the language detector; higher ranks are mostly wrong
_DETECTED = 5_000  # characters by which the language is told

_AS_TEXT = {"alt_texts": False, "preserve_formatting": True}
_COMMENTS = ["#comments", ".comments", ".comments-area", ".comment-list"]
_NOT_MAIN = [*_COMMENTS, "nav", "aside", "header", "footer", "form", "button", "[role=navigation]"]
_DOUBTFUL = ", ".join(  # where one of these is within it, not all of the element is main text
    [
        *_NOT_MAIN,
        *(f"[{key}*={word}]" for key in ("class", "id") for word in ("sidebar", "related", "comment", "share")),
    ]
)
# A word of a program in its colour, as nearly all that mark code up write it; they are most of the elements of a page
# with code, and none of them says where the main text is. Taken for mere text they take half of the time away.
_OPTION = re.compile(rb"<opt(?:ion|group)", re.IGNORECASE)
_FEW_OPTIONS = 500
_MOST_TITLES = 10  # of pictures, before that of the page
_LIST = re.compile(rb"(</?)select(?=[\s/>])", re.IGNORECASE)
_TOKEN = re.compile(rb'<span class="(?!ads?"|nav")[a-z][a-z0-9]{0,2}">([^<]*)</span>')
_TOO_LITTLE = 0.4  # of the text of the element that its page calls main: lists that were taken for menus are missing


class Finder(Enum):
    """What finds main texts."""

    RESILIPARSE = "resiliparse"  # quick
    TRAFILATURA = "trafilatura"  # better on articles, and ten times as slow


class CorpusRow(NamedTuple):
    """One page of a corpus."""

    url: str
    seed: str
    title: str
    language: str  # ISO 639-1; empty: it cannot be told
    text: str  # the main text, line by line
    date: int  # when it was fetched
    digest: str  # SHA-1 of the payload, hexadecimal
    group: int  # number of the first page in the corpus of which this is a near copy, from 0; its own, if it is none


COLUMNS = tuple(
    Column(name, {"date": Kind.TIME, "group": Kind.NUMBER}.get(name, Kind.TEXT)) for name in CorpusRow._fields
)


@dataclass(slots=True)
class CorpusCounts:
    """How many pages became rows, and why the others did not."""

    rows: int = 0
    short: int = 0
    copies: int = 0
    without_text: int = 0  # no tree can be built of them
    pdfs: int = 0  # which nobody reads here
    lost: int = 0  # their records are gone from the archive, or damaged
    slow: int = 0  # their texts take too long
    cut: int = 0  # only their beginning was read


class _Text(NamedTuple):
    title: str
    language: str
    text: str


def corpus(
    database: Database,
    reader: PageReader,
    counts: CorpusCounts,
    *,
    seed_id: int | None = None,
    min_length: int = 0,
    one_of_each: bool = False,
    finder: Finder = Finder.RESILIPARSE,
) -> Iterator[CorpusRow]:
    """Yield the pages that were fetched, whose main text has `min_length` characters; counted in `counts`.

    Of a page that was visited several times it is the last text. With `one_of_each`, of each group of near copies only
    the first page. Raises SettingsError where what finds the main text is not installed.
    """
    text_of = text_reader(finder)
    pdfs = PageFilter(seed_id, results=(Result.FETCHED.value,), types=(_PDF,), last=Last.OF_THESE)
    counts.pdfs = sum(1 for _ in PageLists(database).all(pdfs))
    fetched = PageFilter(seed_id, results=(Result.FETCHED.value,), types=(*_HTML, _PLAIN), last=Last.OF_THESE)
    with closing(_Groups()) as groups:
        for view in PageLists(database).all(fetched):
            try:
                found = _read(view, reader, text_of, counts)
            except RecordsLostError:
                counts.lost += 1
                continue
            except EndlessPageError:
                counts.slow += 1
                continue
            if found is None:
                counts.without_text += 1
            elif len(found.text) < max(1, min_length):
                counts.short += 1
            else:
                group = groups.of(found.text, counts.rows)
                if one_of_each and group != counts.rows:
                    counts.copies += 1
                    continue
                counts.rows += 1
                yield _row(view, found, group)


def _row(view: PageView, found: _Text, group: int) -> CorpusRow:
    page = view.page
    digest = page.digest.hex()
    return CorpusRow(page.url, view.seed, found.title, found.language, found.text, page.fetched_at, digest, group)


def _read(
    view: PageView, reader: PageReader, text_of: Callable[[bytes], _Text | None], counts: CorpusCounts
) -> _Text | None:
    """Return what a page says, or what a browser made of it; None where no text can be had. Raises RecordsLostError."""
    if not view.page.warc_file:
        return None
    content = reader.read(view.page)
    body, content_type = content.document()
    page, _ = to_utf8(body, content_type)
    if view.page.content_type == _PLAIN:
        return _Text("", "", page.decode("utf-8", "replace").strip())
    begun = beginning(page)
    counts.cut += len(begun) < len(page)
    return text_within(content.most_seconds, len(begun), lambda: text_of(begun))


def text_reader(finder: Finder = Finder.RESILIPARSE) -> Callable[[bytes], _Text | None]:
    """Return what finds title, language and main text of an HTML page in UTF-8; None where no tree can be built of it.

    Where the page says which element has its main text, and nothing in that is something else, it is believed, which
    also costs less; else resiliparse looks for it. Lists that it takes for menus are brought back from that element.

    With trafilatura it is that which looks for all of them. Raises SettingsError if one of the two is not installed.
    """
    find = _trafilatura() if finder is Finder.TRAFILATURA else None
    try:
        extract = import_module("resiliparse.extract.html2text").extract_plain_text
        tree_of = import_module("resiliparse.parse.html").HTMLTree.parse
        detect = import_module("resiliparse.parse.lang").detect_fast
    except ImportError as error:
        raise SettingsError(
            "main texts are found by resiliparse, which is not installed: pip install 'seed-scrawler[corpus]'"
        ) from error

    def text_of(page: bytes) -> _Text | None:
        page = b"".join(_TOKEN.split(page))  # what is within them stays
        if is_hazardous(page):
            return None
        html = _without_lists(shown(page)).decode("utf-8", "replace")
        tree = tree_of(html)
        title = title_of_tree(tree)
        if find is not None:
            text = find(html)
            return _Text(title, _language(tree, text, detect), text)
        main = _main_of(tree)
        if main is not None and main.query_selector(_DOUBTFUL) is None:
            text = extract(_only(tree, main), main_content=False, **_AS_TEXT).strip()  # a quarter of the time, no guess
        else:
            text = extract(tree, main_content=True, skip_elements=_COMMENTS, **_AS_TEXT).strip()
            if main is not None and len(text) < _TOO_LITTLE * len(" ".join(main.text.split())):
                only = _only(tree, main)
                text = extract(only, main_content=False, skip_elements=_NOT_MAIN, **_AS_TEXT).strip()
        return _Text(title, _language(tree, text, detect), text)

    return text_of


def _without_lists(page: bytes) -> bytes:
    """Return a page whose lists of very many options are none to a parser, which would look through all for each.

    What stands in them is no text of a page in either form.
    """
    return page if len(_OPTION.findall(page)) <= _FEW_OPTIONS else _LIST.sub(rb"\1x-select", page)


def _trafilatura() -> Callable[[str], str]:
    """Return what finds a main text by trafilatura. Raises SettingsError."""
    try:
        extract: Callable[..., str | None] = import_module("trafilatura").extract
    except ImportError as error:
        raise SettingsError(
            "trafilatura, which is to find main texts, is not installed: pip install 'seed-scrawler[trafilatura]'"
        ) from error

    def find(html: str) -> str:
        return (extract(html, include_comments=False, include_tables=True) or "").strip()

    return find


def title_of_tree(tree: Any) -> str:
    """Return the title as a browser has it (HTML Standard, `document.title`): of the first element that is one.

    That of a picture is none, nor what browsers with scripts do not show.
    """
    if tree.document is None:
        return ""
    in_head = tree.head.query_selector("title") if tree.head is not None else None  # mostly it is there: no long search
    first = in_head if in_head is not None else tree.document.query_selector("title")
    if first is None or not _is_hidden(first):
        return collapsed(tree.title or "")
    titles = islice(tree.document.query_selector_all("title"), _MOST_TITLES)  # each is looked for from the beginning
    shown = (one for one in titles if not _is_hidden(one))
    return collapsed(next((one.text for one in shown), ""))


def _is_hidden(node: Any) -> bool:
    while (node := node.parent) is not None:
        if node.tag in ("svg", "noscript"):
            return True
    return False


def _main_of(tree: Any) -> Any:
    """Return the element which its page says has the main text, None where it says that of none or of several."""
    if tree.document is None:
        return None
    found = tree.document.query_selector_all("main, [role=main]")
    return found[0] if len(found) == 1 else None


def _only(tree: Any, element: Any) -> Any:
    """Return a tree with nothing in its body but one element: what it had beside that is gone."""
    body = tree.body
    element.parent.remove_child(element)
    while (child := body.first_child) is not None:
        body.remove_child(child)
    body.append_child(element)
    return tree


def _language(tree: Any, text: str, detect: Callable[[str], tuple[str, int]]) -> str:
    """Return the language of a text, or what its page says that it is where the text does not tell."""
    language, rank = detect(text[:_DETECTED])
    if language != "unknown" and rank <= _SURE_RANK:
        return language
    root = tree.document.query_selector("html") if tree.document is not None else None
    declared = root.getattr("lang", "") if root is not None else ""
    return str(declared).strip().lower().partition("-")[0][:8]


class _Groups:
    """Finds for each text the first one before it that is nearly the same."""

    @telling_of_the_file()
    def __init__(self) -> None:
        self._known = scratch(
            "CREATE TABLE band (band INTEGER, simhash INTEGER, page INTEGER)", "CREATE INDEX by_band ON band (band)"
        )

    @telling_of_the_file()
    def of(self, text: str, number: int) -> int:
        """Return the number of the first text of which this one, with a number of its own, is a near copy."""
        print_ = fingerprint_of(text.replace("<", " ").encode("utf-8", "replace"))
        most = _DISTANCE if print_.size >= _FEWEST_WORDS else 0
        bands = [number_of << _BAND_BITS | value for number_of, value in enumerate(_bands(print_.simhash))]
        marks = ", ".join("?" * len(bands))
        rows = self._known.execute(f"SELECT simhash, page FROM band WHERE band IN ({marks})", bands)
        near = min((page for simhash, page in rows if distance(simhash, print_.simhash) <= most), default=None)
        if near is not None:
            return int(near)
        self._known.executemany("INSERT INTO band VALUES (?, ?, ?)", ((band, print_.simhash, number) for band in bands))
        return number

    def close(self) -> None:
        """Forget all."""
        self._known.close()


def _bands(simhash: int) -> Iterator[int]:
    for number in range(_BANDS):
        yield simhash >> number * _BAND_BITS & (1 << _BAND_BITS) - 1
