"""Terms that find most, and the end of asking."""

from __future__ import annotations

from itertools import islice, product
from random import Random

from experiments.hidden import WAYS, probe
from scrawler.features.hidden.probing import MOST_TERMS, Probing, Stop
from scrawler.features.synthweb.shop import SHOWN, Shop


def test_frequent_words_come_first_until_their_answers_are_cut_off() -> None:
    probing = Probing(10)
    for number in range(60):
        probing.read(f"always {'often' if number % 3 == 0 else ''} {'rare' if number == 7 else ''}")
    first = probing.next()
    assert first.term == "always"
    probing.answered("always", 20, 15, cut_off=True)
    # A term of 20 known pages would have 80, of which 20 are shown; all but five of those are expected to be new.
    assert probing.expected_new(20) == 15
    assert probing.expected_new(1) < probing.expected_new(20)
    for _ in range(10):
        probing.answered("", 20, 15, cut_off=False)
    assert probing.next().term == "often"


def test_it_ends_by_budget_by_repeats_and_without_terms() -> None:
    assert Probing(5).next().stop is Stop.NO_TERMS
    probing = Probing(1)
    probing.read("one word")
    assert probing.next().stop is None
    assert probing.next().stop is Stop.BUDGET
    repeating = Probing(100)
    for number in range(30):
        repeating.read(" ".join("abcdefghij"[digit] * 3 for digit in map(int, str(number + 100))))
    asked = 0
    while (step := repeating.next()).stop is None:
        repeating.answered(step.term, 50, 0, cut_off=False)
        asked += 1
    assert (step.stop, asked) == (Stop.REPEATS, 10)


def test_a_term_is_asked_once_and_memory_is_bounded() -> None:
    probing = Probing(10_000)
    words = map("".join, product("abcdefghij", repeat=6))
    while text := " ".join(islice(words, 2_000)) if probing.known < 55 else "":
        probing.read(text)
    assert len(probing._pages) <= 2 * MOST_TERMS + 2_000
    asked = []
    for _ in range(5):
        asked.append(probing.next().term)
        probing.answered(asked[-1], 1, 1, cut_off=False)
        probing.read(asked[-1])
    assert len(set(asked)) == 5


def test_most_of_a_shop_is_found() -> None:
    *_, (asked, _, share) = probe(Shop(3, 400), WAYS["most new pages expected"], 100, Random(1))
    assert share > 0.9
    assert asked <= 100


def test_a_shop_is_the_same_for_the_same_number_and_hides_what_it_has() -> None:
    shop = Shop(2, 1_000)
    assert shop.rows == Shop(2, 1_000).rows
    assert shop.rows != Shop(3, 1_000).rows
    term = max(shop._found, key=lambda word: len(shop._found[word]))
    answers = [shop.answer(f"/search?q={term}&page={page}").body.count(b"/item/") for page in (1, 5, 6)]
    assert answers == [20, 20, 0]
    assert len(shop._found[term]) > SHOWN
    statuses = [shop.answer(path).status for path in ("/item/0", "/item/1000", "/item/x", "/no", f"/item/{'9' * 5000}")]
    assert statuses == [200, 404, 404, 404, 404]
    assert shop.answer("/search").status == shop.answer("/search?q=%00&page=-1").status == 200
