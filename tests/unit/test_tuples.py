"""Named tuples that are made in one step are those that Python makes."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.model.rows import PageRow
from scrawler.tuples.quick import quick


@quick
class Quick(NamedTuple):
    a: int
    b: object = "x"
    c: object = ()


class Usual(NamedTuple):
    a: int
    b: object = "x"
    c: object = ()


class Derived(Quick):
    def sum(self) -> int:
        return self.a + 1


def made(kind: Any, unnamed: list[int], named: dict[str, int]) -> object:
    try:
        one = kind(*unnamed, **named)
    except TypeError as error:
        return str(error).replace("Usual", "Quick")
    assert type(one) is kind
    return tuple(one), hash(one), repr(one).replace("Usual", "Quick")


@given(
    st.lists(st.integers(), max_size=5),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "_cls", "".join(("c", ""))]), st.integers()),
)
def test_any_call_comes_to_the_same(unnamed: list[int], named: dict[str, int]) -> None:
    assert made(Quick, unnamed, named) == made(Usual, unnamed, named)


def test_names_that_are_not_held_once_name_fields_as_well() -> None:
    assert Quick(1, **{bytes([99]).decode() + "": 2}) == (1, "x", 2)


def replaced(kind: Any, unnamed: list[int], named: dict[str, int]) -> object:
    before = kind(1, 2, [3])
    try:
        one = before._replace(*unnamed, **named)
    except (TypeError, ValueError) as error:
        return type(error), str(error).replace("Usual", "Quick")
    assert type(one) is kind
    assert before == (1, 2, [3])
    return tuple(one)


@given(
    st.lists(st.integers(), max_size=1),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d", "_self", "".join(("c", ""))]), st.integers()),
)
def test_whatever_is_replaced_comes_to_the_same(unnamed: list[int], named: dict[str, int]) -> None:
    assert replaced(Quick, unnamed, named) == replaced(Usual, unnamed, named)
    assert replaced(Derived, unnamed, named) == replaced(Usual, unnamed, named)


def test_it_is_what_it_was() -> None:
    one = Quick(1, c=[2])
    assert (one.a, one.b, one.c, one._fields) == (1, "x", [2], ("a", "b", "c"))
    assert one._replace(a=5) == Quick._make((5, "x", [2]))
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert Derived(1).sum() == 2
    assert type(Derived(1)._replace(b=1)) is Derived


def test_values_live_as_long_as_the_tuple() -> None:
    for _ in range(3):
        rows = [Quick(number, [number], c={number}) for number in range(10_000)]
        assert rows[77] == (77, [77], {77})


def test_a_value_that_is_wanting_is_told_by_name() -> None:
    with pytest.raises(TypeError, match="url_hash"):
        PageRow(seed_id=1)  # type: ignore[call-arg]
