"""Views: every site has one owner in each, and whoever comes or goes moves what is its own and nothing else."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from scrawler.features.cluster.agents.views import Detector, View

SITES = [f"site{number}.example" for number in range(60)]
NAMES = st.sampled_from([f"agent-{number}" for number in range(8)])
BEAT, SUSPECT, DEAD = 1.0, 3.0, 10.0


class Changes(RuleBasedStateMachine):
    """Members join, fall silent, are heard again and leave, as several agents see it that hear the same beats."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.members = {"agent-0": 1}
        self.silent: set[str] = set()
        self.detectors = {"agent-0": Detector("agent-0", SUSPECT, DEAD, 0.0)}
        self.before = View(self.members)
        self._named()

    def _named(self) -> None:
        for one in self.detectors.values():
            one.name_members(self.members, self.now)

    @rule(name=NAMES, weight=st.integers(1, 3))
    def joins(self, name: str, weight: int) -> None:
        """A member is added to the file of all."""
        if name not in self.members:
            self.members[name] = weight
            self.detectors[name] = Detector(name, SUSPECT, DEAD, self.now)
            self._named()

    @precondition(lambda self: len(self.members) > 1)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        """A member is taken out of it."""
        name = data.draw(st.sampled_from(sorted(self.members)))
        del self.members[name], self.detectors[name]
        self.silent.discard(name)
        self._named()

    @rule(data=st.data())
    def falls_silent(self, data: st.DataObject) -> None:
        self.silent.add(data.draw(st.sampled_from(sorted(self.members))))

    @rule(data=st.data())
    def comes_back(self, data: st.DataObject) -> None:
        self.silent.discard(data.draw(st.sampled_from(sorted(self.members))))

    @rule(beats=st.integers(1, 12))
    def time_goes_by(self, beats: int) -> None:
        for _ in range(beats):
            self.now += BEAT
            for name, one in self.detectors.items():
                assert not one.look(self.now)
                for other in self.members.keys() - self.silent - {name}:
                    one.heard(other, self.now)
                assert one.dead(self.now) <= self.silent
                assert one.dead(self.now) <= one.suspected(self.now)

    def _view(self, name: str) -> View:
        dead = self.detectors[name].dead(self.now)
        return View({one: weight for one, weight in self.members.items() if one not in dead})

    @precondition(lambda self: self.members.keys() - self.silent)
    @rule()
    def nothing_happens_for_longer_than_the_time_out(self) -> None:
        """All that are heard agree: each site has one owner, who is heard, and only what had to has moved.

        Contravariance: among more agents each keeps a part of what it had, and gets nothing from one that stays.
        """
        self.time_goes_by(int(DEAD) + 1)
        heard = self.members.keys() - self.silent
        views = [self._view(name) for name in sorted(heard)]
        after = views[0]
        assert all(view == after for view in views)
        assert after.weights.keys() == heard
        before, self.before = self.before, after
        came = {name for name in after.weights if after.weights[name] != before.weights.get(name)}
        gone = {name for name in before.weights if before.weights[name] != after.weights.get(name)}
        for site in SITES:
            owner = after.owner(site)
            assert {view.owner(site) for view in views} == {owner}
            assert owner in heard
            if owner != before.owner(site):
                assert owner in came or before.owner(site) in gone


Changes.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestChanges = Changes.TestCase


def test_the_same_names_and_capacities_are_the_same_view_whatever_their_order() -> None:
    assert View({"a": 1, "b": 2}) == View({"b": 2, "a": 1})
    assert View({"a": 1, "b": 2}).version == View({"b": 2, "a": 1}).version
    assert View({"a": 1, "b": 2}).version != View({"a": 2, "b": 1}).version


def test_capacity_is_share() -> None:
    shares = View({"a": 1, "b": 3}).shares()
    assert 0.65 < shares["b"] < 0.85
    assert abs(sum(shares.values()) - 1) < 1e-9


def test_whoever_was_frozen_takes_nobody_for_dead() -> None:
    one = Detector("a", SUSPECT, DEAD, 0.0)
    one.name_members(["a", "b"], 0.0)
    one.heard("b", 1.0)
    assert not one.look(1.0)
    assert one.look(100.0)
    assert one.dead(100.0) == one.suspected(100.0) == frozenset()
    assert not one.look(101.0)
    assert one.suspected(104.0) == {"b"}
    assert one.dead(110.0) == frozenset()
    assert one.dead(111.0) == {"b"}


def test_an_agent_whose_whole_machine_was_paused_sees_it_by_the_time_of_day() -> None:
    """Other clocks of a paused virtual machine stand; nobody is taken for dead, and nobody has been silent."""
    one = Detector("a", 5.0, 20.0, 0.0)
    one.name_members("ab", 0.0)
    assert one.look(1.0, 1_000.0) == 0.0, "nobody knows how late it was before"
    assert one.look(2.0, 1_001.0) == 0.0
    assert one.look(3.0, 1_600.0) == 599.0
    assert one.dead(4.0) == one.suspected(4.0) == frozenset()
    assert one.look(4.0, 1_601.0) == 0.0
    assert one.look(5.0, 900.0) == 0.0, "a clock that was set back says nothing"
