"""What a party asks the search forms of its site, and what came of it. Guarded by the machine's turn.

A query is a URL that asks for a term, and stands in the party's list as any other: so robots.txt, politeness, filters,
limits, leases and checkpoints are the crawl's own. One is asked when all else is fetched; then come the pages on which
its answer goes on, and what these lead to; from all of that the next term follows (see `probing`). Its row, and what
is known of terms, are written in the same transaction as the list: so none is asked twice, and none is lost.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from scrawler.extract.beginning import beginning
from scrawler.extract.visible import visible_text
from scrawler.features.hidden.forms import SearchForm, search_forms
from scrawler.features.hidden.probing import Next, Probing, Stop, words_of
from scrawler.features.hidden.rows import SEARCH, SEARCH_QUERY, SearchQueryRow, SearchRow
from scrawler.model.results import Result
from scrawler.model.row_kinds import Row, RowKind
from scrawler.model.terms import url_hash

MOST_FORMS = 3  # of a party that are asked, one after the other
MOST_ANSWERS = 10  # pages of one answer
_MOST_TERMS = 5_000  # kept for a party: with twice as many, at which they are thinned, it takes a megabyte
_MOST_COMMON = 0.8  # share of the known pages above which a term is one of the frame around them
_MOST_FAILED = 3  # queries in a row with no answer after which a form is given up
_MOST_FRAME = 1_000  # links of the page of a form that are known to be no results
_KEPT_AFTER = 100  # pages whose words a kill may cost, while there is no form
_NO_BUDGET = 1 << 40  # it may change while the crawl runs, and so is asked for each time
_SEEN_OFTEN = 3  # answers with as many results as any had after which that is how many are shown
_WORTHWHILE = frozenset((Result.FETCHED.value, Result.REDIRECT.value, Result.NOT_MODIFIED.value))
_NUMBER = re.compile(r"\d{1,7}")
_PAGE_OF_PATH = re.compile(r"/(?:(?:page|p|seite|pagina|strana)/?-?)?\d{1,7}(?=/|$)", re.IGNORECASE)
_ENDED = {Stop.BUDGET: "budget", Stop.REPEATS: "repeats", Stop.NO_TERMS: "no-terms"}
_FAILING, _REFUSED = "failing", "refused"


class SearchPage(NamedTuple):
    """What a page says for searches."""

    forms: tuple[SearchForm, ...]  # that say that they search
    words: frozenset[str]


class Query(NamedTuple):
    """A URL that asks a form for a term; the form stands on a page."""

    url: str
    page: str
    depth: int  # of the page


class _Form(NamedTuple):
    form: SearchForm
    page: str  # on which it was met first
    depth: int

    @property
    def name(self) -> str:
        """What people, and rows, call it."""
        return f"{self.form.action}?{self.form.field}="


def read_search_page(page: bytes, is_xml: bool, url: str, base: str, charset: str) -> SearchPage:
    """Read the search forms of a page in UTF-8, and its words; needs no turn."""
    page = beginning(page)
    kind = "application/xhtml+xml" if is_xml else "text/html"
    forms = [form for form in search_forms(page, url, base, charset) if form.sure]
    text = visible_text(page, f"{kind}; charset=utf-8", kind) or ""
    return SearchPage(tuple(forms[:MOST_FORMS]), words_of(text))


class Searches:
    """The searches of one party."""

    def __init__(
        self,
        seed_id: int,
        queries: Callable[[], int],
        row: SearchRow | None = None,
        asked: Sequence[SearchQueryRow] = (),
    ) -> None:
        """Begin, or go on where rows say that an earlier owner of the party was; `queries` says how many are allowed.

        The rows of queries come in the order of their numbers.
        """
        self._seed_id = seed_id
        self._queries = queries
        self._forms: list[_Form] = []
        self._given_up = 0  # forms that are done with
        self._frame: set[int] = set()  # keys of links that are no results
        self._failed = 0
        self._by_hash = {one.url_hash: one for one in asked}
        self._by_term = {one.term: one for one in asked}
        self._total = sum(one.results for one in asked), sum(one.found for one in asked)
        self._open: str = ""  # the term whose answer is being read
        self._sizes: dict[int, int] = {}  # how often an answer had so many results
        self._changed: dict[str, None] = {}  # terms of rows that the next checkpoint writes
        self._unkept = 0  # pages whose words no checkpoint has
        self._must_keep = False
        self.ended = ""
        self.listed_before = 0  # URLs of the party when the last query was listed
        self._admitted: dict[str, int] = {}  # further pages of answers that were listed, by term
        self._probing = Probing(_NO_BUDGET, most_terms=_MOST_TERMS, most_common=_MOST_COMMON)
        if row is not None:
            self._restore(row)

    # -- what pages say --------------------------------------------------------------------------------------

    @property
    def wants_forms(self) -> bool:
        """Whether another form may be asked."""
        return len(self._forms) < MOST_FORMS

    def learn(self, words: frozenset[str]) -> None:
        """Learn the words of a page of the site."""
        self._probing.learn(words)
        self._unkept += 1
        if self.ended == _ENDED[Stop.NO_TERMS]:
            self.ended = ""

    def meet(self, forms: Iterable[SearchForm], page: str, depth: int, links: Callable[[], Iterable[str]]) -> None:
        """Note the forms of a page; `links` returns its internal links, which are no results of its searches."""
        known = {(one.form.action, one.form.field) for one in self._forms}
        new = [form for form in forms if (form.action, form.field) not in known]
        for form in new[: MOST_FORMS - len(self._forms)]:
            self._forms.append(_Form(form, page, depth))
            self._must_keep = True
            if len(self._frame) < _MOST_FRAME:
                self._frame.update(map(_key, islice(links(), _MOST_FRAME - len(self._frame))))
            if self.ended == _ENDED[Stop.REPEATS] or self.ended in (_FAILING, _REFUSED):
                self.ended = ""

    # -- answers ---------------------------------------------------------------------------------------------

    def term_of(self, url: str) -> str:
        """Return the term for which a URL asks that was asked for, and of whose answer it is a page; else empty."""
        if not self._by_term or "?" not in url:
            return ""
        split = urlsplit(url)
        values = parse_qsl(split.query, keep_blank_values=True)
        for one in self._forms:
            encoding = one.form.charset or "utf-8"
            term = next((value for name, value in _values(values, split, encoding) if name == one.form.field), "")
            row = self._by_term.get(term)
            if row is not None and row.form == one.name and _goes_on(split, values, one.form, term):
                return term
        return ""

    def sift(self, term: str, urls: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
        """Divide the internal links of an answer to a term: results, pages on which it goes on, and the rest.

        Of the latter are other views of it: sorted in another way, or with filters.
        """
        results, further, rest = list[str](), list[str](), list[str]()
        for url in dict.fromkeys(urls):
            if self.term_of(url) == term:
                further.append(url)
            elif self._is_view(url, term):
                rest.append(url)
            else:
                results.append(url)
        return results, further, rest

    def admit(self, term: str, further: Sequence[str]) -> Sequence[str]:
        """Return as many of the pages on which the answer to a term goes on as are to be listed."""
        before = self._admitted.get(term, self._by_term[term].answers)
        some = further[: max(0, MOST_ANSWERS - 1 - before)]
        self._admitted[term] = before + len(some)
        return some

    def _is_view(self, url: str, term: str) -> bool:
        if "?" not in url:
            return False
        values = parse_qsl(urlsplit(url).query, keep_blank_values=True)
        fields = {one.form.field for one in self._forms}
        return any(name in fields and value == term for name, value in values)

    def answered(self, term: str, results: Iterable[str], found: int) -> None:
        """Note a page of the answer to a term: its results, and how many URLs they were that nobody had listed."""
        row = self._by_term[term]
        shown = sum(_key(url) not in self._frame for url in results)
        shown = max(shown, found)
        self._keep(row._replace(answers=row.answers + 1, results=row.results + shown, found=row.found + found))
        self._total = self._total[0] + shown, self._total[1] + found
        self._failed = 0

    def redirected(self, url: str, found: int) -> None:
        """Note that a page of an answer leads elsewhere, as where there is one result."""
        if term := self.term_of(url):
            self.answered(term, (), found)

    def finished(self, url: str, result: str) -> None:
        """Note that a URL has its final result: a form whose queries have no answer is given up."""
        if result in _WORTHWHILE or not self._by_hash or url_hash(url) not in self._by_hash:
            return
        self._failed += 1
        if result == Result.ROBOTS_DENIED.value:
            self._give_up(_REFUSED)
        elif self._failed >= _MOST_FAILED:
            self._give_up(_FAILING)

    def _give_up(self, why: str) -> None:
        """Go on with the next form, if there is one."""
        self._given_up += 1
        self._failed = 0
        self._sizes = {}
        self._probing.forget_answers()
        self._must_keep = True
        if self._given_up >= len(self._forms):
            self.ended = why

    # -- queries ---------------------------------------------------------------------------------------------

    def next(self) -> Query | None:
        """Return the query that promises most, None if there is none; `ask`, `pass_by` or `refuse` is called next."""
        if self.ended or self._given_up >= len(self._forms):
            return None
        self._close()
        step = self._step()
        if step.stop is not None:
            self.ended, self._must_keep = _ENDED[step.stop], True
            return None
        self._open = step.term
        of = self._forms[self._given_up]
        return Query(of.form.url(step.term), of.page, of.depth)

    def ask(self, url: str) -> None:
        """Note that the query that was returned last is listed, as a URL."""
        term, of = self._open, self._forms[self._given_up]
        row = SearchQueryRow(self._seed_id, url_hash(url), len(self._by_term) + 1, term, of.name, 0, 0, 0)
        self._by_hash[row.url_hash] = row
        self._keep(row)
        self._must_keep = True

    def pass_by(self) -> None:
        """Note that the query that was returned last is listed already, by a link or another party."""
        self._probing.pass_by(self._open)
        self._open = ""

    def refuse(self) -> None:
        """Note that the query that was returned last may not be listed, nor any other of its form."""
        self.pass_by()
        self._give_up(_REFUSED)

    def _step(self) -> Next:
        """Return the next term, of the next form where the answers of one repeat each other; or why there is none."""
        if len(self._by_term) >= self._queries():
            return Next("", 0.0, Stop.BUDGET)
        step = self._probing.next()
        while step.stop is Stop.REPEATS and self._given_up + 1 < len(self._forms):
            self._give_up(_ENDED[Stop.REPEATS])
            step = self._probing.next()
        return step

    def _close(self) -> None:
        """Learn what the answer to the last query has brought, now that all of it is fetched."""
        row = self._by_term.get(self._open)
        if row is None:
            return
        self._open = ""
        size = row.results
        self._sizes[size] = self._sizes.get(size, 0) + 1
        most = max(self._sizes)
        often = size > 0 and size == most and self._sizes[size] >= _SEEN_OFTEN
        cut_off = often or row.answers >= MOST_ANSWERS or not row.answers  # without an answer nothing is learned of it
        self._probing.answered(row.term, size, row.found, cut_off)

    def _keep(self, row: SearchQueryRow) -> None:
        self._by_term[row.term] = self._by_hash[row.url_hash] = row
        self._changed[row.term] = None

    # -- on the way to the database --------------------------------------------------------------------------

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        """Add what the next checkpoint writes: what is known of terms, and the rows of queries that have changed."""
        rows = tuple(self._by_term[term] for term in self._changed)
        self._changed = {}
        unkept = self._unkept > 0 if self._forms else self._unkept >= _KEPT_AFTER
        if not (rows or self._must_keep or unkept):
            return
        self._unkept, self._must_keep = 0, False
        state = SearchRow(self._seed_id, len(self._by_term), *self._total, self.ended, self._dump())
        into[SEARCH] = (state,)
        if rows:
            into[SEARCH_QUERY] = rows

    @property
    def weight(self) -> int:
        """Rows of queries that have changed."""
        return len(self._changed)

    def owns(self, url: str) -> bool:
        """Tell whether a URL is a page of the answer to a query: their number is bounded by the budget."""
        return bool(self.term_of(url))

    def _dump(self) -> bytes:
        stored = {
            "forms": [[*one.form, one.page, one.depth] for one in self._forms],
            "given_up": self._given_up,
            "failed": self._failed,
            "frame": sorted(self._frame),
            "open": self._open,
            "sizes": list(self._sizes.items()),
            "probing": self._probing.dump(),
        }
        return zlib.compress(json.dumps(stored, ensure_ascii=False, separators=(",", ":")).encode(), 1)

    def _restore(self, row: SearchRow) -> None:
        stored: dict[str, Any] = json.loads(zlib.decompress(row.data))
        for action, field, fixed, sure, charset, page, depth in stored["forms"]:
            sent = tuple((name, value) for name, value in fixed)
            self._forms.append(_Form(SearchForm(action, field, sent, sure, charset), page, depth))
        self._given_up = stored["given_up"]
        self._failed = stored["failed"]
        self._frame = set(stored["frame"])
        self._open = stored["open"]
        self._sizes = dict(stored["sizes"])
        self._probing.restore(stored["probing"], self._by_term, self._open)
        self.ended = "" if row.ended == _ENDED[Stop.BUDGET] else row.ended  # which may have been raised


def _values(values: list[tuple[str, str]], split: SplitResult, encoding: str) -> list[tuple[str, str]]:
    if encoding == "utf-8":
        return values
    try:
        return parse_qsl(split.query, keep_blank_values=True, encoding=encoding)
    except LookupError:
        return values


def _goes_on(split: SplitResult, values: list[tuple[str, str]], form: SearchForm, term: str) -> bool:
    """Tell whether a URL asks as a form does, or for a further page of the same: numbers alone are added."""
    sent = {form.field: term, **dict(form.fixed)}
    added = [value for name, value in values if name not in sent]
    as_sent = all(sent[name] == value for name, value in values if name in sent and name != form.field)
    if not as_sent or any(_NUMBER.fullmatch(value) is None for value in added):
        return False
    path, action = split.path, urlsplit(form.action).path
    return path == action or _PAGE_OF_PATH.sub("", path).rstrip("/") == action.rstrip("/")


def _key(url: str) -> int:
    return int.from_bytes(url_hash(url)[:6], "big")
