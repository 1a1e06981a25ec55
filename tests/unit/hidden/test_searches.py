"""What a party asks of search forms, by decisions alone: no network, no database."""

from __future__ import annotations

from scrawler.features.hidden.forms import SearchForm, search_forms
from scrawler.features.hidden.rows import SEARCH, SEARCH_QUERY, SearchQueryRow, SearchRow
from scrawler.features.hidden.searches import MOST_ANSWERS, Searches, read_search_page
from scrawler.model.row_kinds import Row, RowKind
from tests.tables import each

PAGE = "http://a.test/"
FORM = SearchForm("http://a.test/find", "q", (("in", "all"),), sure=True)


def begun(budget: int = 10, words: int = 30) -> Searches:
    searches = Searches(1, lambda: budget)
    searches.meet([FORM], PAGE, 0, list)
    for number in range(words):
        searches.learn(frozenset({"word" + "abcdefghij"[number % 10] * 3, "rest" + chr(97 + number % 26)}))
    return searches


def ask(searches: Searches) -> str:
    query = searches.next()
    assert query is not None
    searches.ask(query.url)
    return query.url


def again(searches: Searches, budget: int = 10) -> Searches:
    """What another machine makes of the rows."""
    rows: dict[RowKind, tuple[Row, ...]] = {}
    searches.take_rows(rows)
    (row,) = rows[SEARCH]
    queries = [SearchQueryRow._make(one) for one in rows.get(SEARCH_QUERY, ())]
    return Searches(1, lambda: budget, SearchRow._make(row), queries)


def test_answers_are_known_by_their_urls() -> None:
    searches = begun()
    url = ask(searches)
    term = searches.term_of(url)
    assert term
    assert searches.term_of(f"{url}&page=2") == term
    assert searches.term_of(f"http://a.test/find/page/3?q={term}") == term
    for other in (f"{url}&sort=price", f"http://a.test/find?in=few&q={term}", f"http://a.test/tag?q={term}"):
        assert searches.term_of(other) == ""
    assert searches.term_of("http://a.test/find?in=all&q=neverasked") == ""
    results, further, rest = searches.sift(term, ["http://a.test/1", f"{url}&page=2", f"{url}&sort=price"])
    assert (results, further, rest) == (["http://a.test/1"], [f"{url}&page=2"], [f"{url}&sort=price"])


def test_pages_of_an_answer_are_bounded() -> None:
    searches = begun()
    url = ask(searches)
    term = searches.term_of(url)
    admitted = [len(searches.admit(term, [f"{url}&page={n}{m}" for n in range(7)])) for m in range(4)]
    assert sum(admitted) == MOST_ANSWERS - 1


def test_another_machine_goes_on_where_this_one_was() -> None:
    searches = begun()
    first = ask(searches)
    searches.answered(searches.term_of(first), [f"http://a.test/{n}" for n in range(20)], 12)
    taken = again(searches)
    assert taken.term_of(first)
    assert ask(taken) == ask(searches)


def test_a_kill_amid_an_answer_learns_of_it_once() -> None:
    searches = begun()
    first = ask(searches)
    taken = again(searches)
    for one in (searches, taken):
        one.answered(one.term_of(first), [f"http://a.test/{n}" for n in range(5)], 5)
    assert ask(taken) == ask(searches) != first


def test_the_budget_may_be_raised_and_terms_come_to_an_end() -> None:
    searches = begun(budget=1)
    ask(searches)
    assert searches.next() is None
    assert searches.ended == "budget"
    wider = again(searches, budget=2)
    assert wider.ended == ""
    ask(wider)
    assert wider.next() is None
    few = Searches(1, lambda: 10)
    few.meet([FORM], PAGE, 0, list)
    assert few.next() is None
    assert few.ended == "no-terms"


def test_a_form_without_answers_gives_way_to_the_next() -> None:
    searches = begun()
    searches.meet([FORM._replace(action="http://a.test/seek")], PAGE, 0, list)
    for _ in range(3):
        searches.finished(ask(searches), "http-error")
    assert ask(searches).startswith("http://a.test/seek?")
    searches.refuse()
    assert searches.next() is None
    assert searches.ended == "refused"


def test_words_of_the_frame_around_all_pages_are_not_asked_for() -> None:
    searches = Searches(1, lambda: 3)
    searches.meet([FORM], PAGE, 0, list)
    for number in range(10):
        searches.learn(frozenset({"imprint", "home", f"row{chr(97 + number)}x", "some" if number % 2 else "other"}))
    asked = [ask(searches) for _ in range(3)]
    assert not [url for url in asked if "imprint" in url or "home" in url]


@each(
    "form",
    [
        '<form action="/unsubscribe"><input type=search name=q></form>',
        '<form action="/x"><input type=search name=q><button>Buy now</button></form>',
        '<form action="/x" class="newsletter-search"><input type=search name=q></form>',
        '<form action="/x"><input type=hidden name=do value=delete><input type=search name=q></form>',
        '<form action="/login"><input name=search></form>',
        '<form action="/x"><input type=search name=q><button formmethod=post>Go</button></form>',
        '<form action="/x"><input type=search name=q><input type=submit formaction=/cart value=Go></form>',
        '<form action="/x" rel=nofollow><input type=search name=q></form>',
        '<form action="/x" method=post><input type=search name=q></form>',
        '<form action="http://b.test/x"><input type=search name=q></form>',
    ],
)
def test_what_changes_something_or_belongs_to_others_is_no_search(form: str) -> None:
    assert search_forms(form.encode(), PAGE) == []


def test_tokens_stay_at_home_and_a_base_and_a_charset_count() -> None:
    page = (
        '<base href="/shop/"><form action="find"><input type=search name=q><input type=hidden name=csrf_token value=1>'
        '<input type=hidden name=t value="a9F3kk20dd81kfh3hf83hf83kd0"><input type=hidden name=lang value=de></form>'
    )
    (form,) = search_forms(page.encode(), PAGE, "http://a.test/shop/", "windows-1252")
    assert (form.action, form.fixed) == ("http://a.test/shop/find", (("lang", "de"),))
    assert form.url("b\u00e4r") == "http://a.test/shop/find?lang=de&q=b%E4r"


def test_only_forms_that_say_that_they_search_are_kept() -> None:
    both = "<form action=/a><input name=size></form><form action=/b role=search><input name=s></form>Some words here"
    said = read_search_page(both.encode(), False, PAGE, PAGE, "utf-8")
    assert [form.action for form in said.forms] == ["http://a.test/b"]
    assert said.words == {"some", "words", "here"}
