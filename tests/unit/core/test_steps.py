"""What steps bring is gathered once, each at its number; what they know of a party stands there as well."""

from __future__ import annotations

from scrawler.core.answers.steps import Steps, Want
from scrawler.core.party.context import SeedContext
from scrawler.core.party.states import rows_of
from scrawler.model.row_kinds import Row, RowKind
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of

HOME = "http://a.example/"
KIND = RowKind("search", ("seed_id", "found"), key=1)


class Known:
    """What a step knows of a party."""

    def __init__(self, rows: int = 0) -> None:
        self.weight = rows

    def take_rows(self, into: dict[RowKind, tuple[Row, ...]]) -> None:
        into[KIND] = ((1, self.weight),)

    def owns(self, url: str) -> bool:
        return url.endswith("?q=mine")


class Looking:
    """A step that decides about URLs, and looks them up."""

    at: int
    wants: frozenset[Want] = frozenset()

    def site_state(self, site: object, claimed: object) -> None:
        return None

    def look_up(self, seed_id: int, urls: object, after_lists: bool) -> dict[str, object]:
        return {}

    def check(self, *asked: object) -> None:
        return None

    def put_off(self, flight: object, response: object) -> None:
        return None


class Reading:
    """A step that reads pages, and knows something of each party."""

    at: int
    wants = frozenset({Want.MARKS})

    def party_state(self, site: object, party: object) -> Known:
        return Known(3)

    def read(self, flight: object, response: object, page: object) -> None:
        return None


def a_party() -> SeedContext:
    scope = scope_of(HOME, Scope.HOST)
    return SeedContext(Seed(1, 1, HOME, HOME, 0, 0), UrlAnalyzer(scope), scope, 0.0)


def test_methods_are_gathered_and_each_step_has_its_number() -> None:
    looking, reading = Looking(), Reading()
    steps = Steps([looking, reading])
    assert (looking.at, reading.at, steps.number) == (0, 1, 2)
    assert steps.reads == (reading.read,)
    assert (steps.looks_up, steps.checks, steps.puts_off) == ((looking.look_up,), (looking.check,), (looking.put_off,))
    assert (steps.finishes, steps.follows, steps.asks_on) == ((), (), ())
    assert steps.wants == {Want.MARKS}


def test_a_state_stands_at_the_number_of_its_step() -> None:
    steps, party = Steps([Looking(), Reading()]), a_party()
    assert len(steps.site_states) == len(steps.party_states) == 2, "one for each step, where one has any"
    party.keep_states(make(None, party) for make in steps.party_states)  # type: ignore[arg-type]
    assert party.state_of(0) is None
    state = party.state_of(1)
    assert state is not None
    assert party.weight == state.weight == 3
    assert party.is_of_step(f"{HOME}?q=mine")
    assert not party.is_of_step(HOME)
    assert rows_of(party.states) == ((KIND, ((1, 3),)),)


def test_a_party_of_which_no_step_knows_anything_keeps_nothing() -> None:
    party = a_party()
    party.keep_states([None, None])
    assert party.states == ()
    assert party.state_of(1) is None
    party.keep_state(1, Known())
    assert [party.state_of(at) is None for at in range(3)] == [True, False, True]
