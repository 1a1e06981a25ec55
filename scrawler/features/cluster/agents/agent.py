"""The thread of an agent: it listens to the others, tells them that it lives, and what it has found for them.

Whatever comes is an arrival of the communicator: a batch of URLs, a receipt for one, or a note. The notes are

    beat     I live, and go by this view; empty: I still give sites of another view back. They have numbers: one that
             was overtaken by a later one says nothing
    ask      how do you stand?  report   so (see census, and vigil)
    over     all is over, by this view of these agents, who have crawled what was any other's as well
    how      tell a guest, who listens at this address, how you are: `status`
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

from scrawler.clocks import boot_clock
from scrawler.errors import StoreBusyError
from scrawler.features.cluster.agents.census import Census, Report
from scrawler.features.cluster.agents.members import MembersFile
from scrawler.features.cluster.agents.partition import AgentPartition
from scrawler.features.cluster.agents.post import Post
from scrawler.features.cluster.agents.standing import Standing
from scrawler.features.cluster.agents.views import Detector, View
from scrawler.features.cluster.agents.vigil import Vigil
from scrawler.features.cluster.exchange.communicator import Arrival, Communicator, Delivery, Note, NoteBody, Receipt
from scrawler.features.cluster.store.agents import KnownView, Mail
from scrawler.urls.normalise import normalise

_SETTLE = 0.1  # seconds between two looks whether sites of another view are still here
_CENSUS = 0.5  # seconds between two askings
_BUSY = 0.5  # seconds after which a busy database is asked again
_LONGEST_WAIT = 0.5  # seconds for which nothing but the network is listened to
_VIEWS = 16  # that are remembered; after more of them all is sent again
_GUESTS = 16
_REMIND = 60.0  # seconds between two lines on who is waited for
_LAST_WORDS = 3  # whoever lost all of them would wait for this agent until it may take it for dead


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: between two signs of life, and of silence after which an agent is suspected, or dead."""

    beat: float
    suspect: float
    dead: float


@dataclass(frozen=True, slots=True)
class AgentPorts:
    """What the thread asks of its machine."""

    holding: Callable[[], bool]  # whether anything is in work, or not yet durable
    give_back_others: Callable[[], None]  # let go of sites that are another agent's by now
    look_again: Callable[[], None]  # let the selector look for sites, and whether all is over
    go_on: Callable[[], None]  # let sites be asked again
    figures: Callable[[], NoteBody]  # what guests are told beside the rest
    more_members: Callable[[], None]  # follow that the file of members has more than ever before in this life
    failed: Callable[[BaseException], None]
    say: Callable[[str], None]


class AgentThread(threading.Thread):
    """Speaks with the other agents until `stop`; then, if all is over, until they know it, too."""

    def __init__(
        self,
        members: MembersFile,
        communicator: Communicator,
        mail: Mail,
        partition: AgentPartition,
        standing: Standing,
        times: Times,
        ports: AgentPorts,
        stop: threading.Event,
        at_a_time: int,
        guests: OrderedDict[str, str],
    ) -> None:
        """`guests` are where those listen who are no members: the communicator finds them there."""
        super().__init__(name="agent")
        self._me = partition.name
        self._members = members
        self._most_members = len(members.members)
        self._communicator = communicator
        self._mail = mail
        self._partition = partition
        self._standing = standing
        self._times = times
        self._ports = ports
        self._halt = stop
        self._guests = guests
        self._post = Post(self._me, mail, communicator, at_a_time)
        now = boot_clock()
        self._vigil = Vigil()
        self._detector = Detector(self._me, times.suspect, times.dead, now)
        self._detector.name_members(members.members, now)
        self._census = Census()
        self._run = ""  # which life of this agent it is, as others see it
        self._views_of: dict[str, str] = {}  # by which view each of the others goes, as it said last
        self._newest: dict[str, tuple[str, int]] = {}  # life and number of the beat that said it
        self._beats = 0
        self._taken: dict[str, tuple[str, int, frozenset[int]]] = {}  # the last batch of each: life, number, not mine
        self._views: list[View] = []  # since all that moved with them was last sent again
        self._sending: Iterator[int] | None = None  # what moved is being sent again, ...
        self._sending_up_to = 0  # ... for the first so many of these views
        self._over_by = ""  # a view by which others say that all is over
        self._over_stirred = 0  # as often this agent had been stirred when it was said
        self._left_out: View | None = None  # the view by which all is over for others, who have crawled its sites
        self._know_over: set[str] = set()  # who has said so
        self._beat_at = 0.0  # seconds of the boot clock of the next heartbeat, and of what else is due at times
        self._settle_at = 0.0
        self._census_at = 0.0
        self._busy_until = 0.0
        self.notes = 0  # sent
        self.came = 0  # URLs that others have sent
        self.sent_again = 0  # URLs

    # -- life ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Speak and listen."""
        try:
            self._begin()
            self._detector.look(boot_clock(), time.time())
            while not self._halt.is_set():
                self._step()
            until = boot_clock() + self._times.dead
            while self._standing.over and self._are_to_be_told() and boot_clock() < until:
                self._step()
            for _ in range(_LAST_WORDS if self._standing.over else 0):
                self._tell_over()
        except BaseException as error:
            self._ports.failed(error)

    def told(self) -> str:
        """Say what this agent has sent, in a line."""
        messages, urls = self.notes + self._post.batches, self._post.urls
        return (
            f"agent {self._me}: {messages:,} messages sent, {urls:,} URLs given to others and {self.came:,} taken,"
            f" {self.sent_again:,} sent again"
        )

    def _begin(self) -> None:
        known = self._mail.known()
        self._views = [View(weights) for weights in known.views if weights]
        if known.over and not self._mail.is_left():
            self._standing.over = True
            self._over_by = self._partition.map.view.version
            self._know_over = set(self._members.members)
        else:
            self._note_view(self._partition.map.view)

    def _step(self) -> None:
        arrival = self._communicator.receive(self._pause(boot_clock()))
        now = boot_clock()
        self._look(now)
        try:
            if arrival is not None:
                self._take(arrival, now)
            self._beat(now)
            self._follow(now)
            if now >= self._busy_until:
                self._work(now)
        except StoreBusyError:
            self._busy_until = now + _BUSY

    def _look(self, now: float) -> None:
        """Find out whether this agent slept: others may have its sites by now, and it asks how they stand."""
        slept = self._detector.look(now, time.time())
        if slept and not self._standing.over:
            others = set(self._members.members) - {self._me}
            was_alone = set(self._partition.map.view.weights) == {self._me}
            self._standing.sleep()
            self._views_of.clear()
            self._vigil.begin(others, now, now + self._times.dead if was_alone else inf)
            self._beat_at = now
            if others:
                self._ports.say(f"this agent slept for {slept:,.0f} s: it asks no host before it has heard the others")
        self._standing.look()

    def _pause(self, now: float) -> float:
        if self._sending is not None:
            return 0.0
        due = min(self._beat_at - now, self._post.due_in(now), self._census_at - now if self._may_ask() else 1.0)
        if self._partition.moving:
            due = min(due, self._settle_at - now)
        return min(max(due, self._busy_until - now, 0.0), _LONGEST_WAIT)

    def _work(self, now: float) -> None:
        if self._standing.over:
            return
        self._settle(now)
        self._send_again()
        self._post.step(now, self._detector.suspected(now))
        self._ask(now)
        if self._left_out is not None:
            self._mail.drop()  # nobody is there any more who could take it
        elif self._over_by and self._standing.stirred != self._over_stirred:
            self._over_by = ""  # seeds have come since
        if self._over_by == self._told_view != "" and self._standing.quiet:
            self._end()

    # -- who lives -----------------------------------------------------------------------------------------

    def _beat(self, now: float) -> None:
        if now < self._beat_at:
            return
        self._beat_at = now + self._times.beat
        problem = self._members.look()
        if problem is not None:
            self._ports.say(f"warning: {problem}")
        if len(self._members.members) > self._most_members:
            self._most_members = len(self._members.members)
            self._ports.more_members()  # before anybody hears of the view that they are in
        self._detector.name_members(self._members.members, now)
        self._keep_vigil(now)
        self._beats += 1
        self._tell_all("beat", {"view": self._told_view, "number": self._beats})
        if self._standing.over:
            self._tell_over()

    def _keep_vigil(self, now: float) -> None:
        """Ask those who were not heard since this agent slept how they stand."""
        if not self._vigil.on:
            return
        self._vigil.name_members(set(self._members.members) - {self._me})
        for name in self._vigil.missing:
            self._tell(name, "ask", {"wave": self._vigil.wave})
        if self._vigil.missing and now >= self._vigil.told_at + _REMIND:
            self._vigil.told_at = now
            self._ports.say(
                f"nothing was heard of {', '.join(sorted(self._vigil.missing))} since this agent slept, and it asks no"
                f" host: if they have ended, stop it; if they will not come back, take them out of {self._members.path}"
            )

    @property
    def _told_view(self) -> str:
        """The view by which this agent goes; empty while it still holds sites that are another's in it."""
        return "" if self._partition.moving else self._partition.map.view.version

    def _follow(self, now: float) -> None:
        """Go over to another view where others have come or gone."""
        if self._standing.over:
            return
        wanted, before = self._seen(now), self._partition.map.view
        if wanted != before and self._partition.install(wanted):
            if not set(wanted.weights) <= set(before.weights):
                self._standing.reunite()
            self._standing.stir()
            self._note_view(wanted)
            self._post.begin_anew(wanted.owner)
            self._ports.give_back_others()
            self._settle_at = self._beat_at = now
        view = self._partition.map.view
        others = (name for name in view.weights if name != self._me)
        same = self._left_out is not None or all(self._views_of.get(name) == view.version for name in others)
        agreed = same and not self._partition.moving
        if self._standing.agree(agreed):
            self._ports.look_again()
        if self._vigil.on and agreed and (self._left_out is not None or self._vigil.is_over(view.weights, now)):
            self._vigil.on = False
            self._standing.wake()
        if self._standing.is_settled() or self._standing.lets_again():
            self._ports.go_on()

    def _seen(self, now: float) -> View:
        if self._left_out is not None:
            return self._left_out
        dead = self._detector.dead(now)
        living = {one.name: one.capacity for one in self._members.members.values() if one.name not in dead}
        return View(living or self._partition.map.view.weights)

    def _note_view(self, view: View) -> None:
        """Remember a view before anything is sent by it."""
        if not self._views or self._views[-1] != view:
            self._views.append(view)
        self._post.begin_anew(view.owner)
        self._mail.remember(KnownView([one.weights for one in self._views[-_VIEWS:]]))

    def _settle(self, now: float) -> None:
        """Find out whether all sites are given back that are another's by now."""
        if not self._partition.moving or now < self._settle_at:
            return
        self._settle_at = now + _SETTLE
        if self._mail.holds_others(self._partition.is_mine):
            self._ports.give_back_others()
            return
        self._partition.moving = False
        self._beat_at = now  # the others wait for this

    # -- URLs ----------------------------------------------------------------------------------------------

    def _send_again(self) -> None:
        """Send what went to owners that are others now, a page with each step."""
        if self._sending is None:
            if len(self._views) < 2:
                return
            views = self._views[:]
            self._sending_up_to = len(views)
            is_far_back = len(views) > _VIEWS

            def has_moved(key: str) -> bool:
                return is_far_back or len({view.owner(key) for view in views}) > 1

            self._sending = self._mail.sending_again(has_moved)
        for number in self._sending:
            self.sent_again += number
            if number:
                self._standing.stir()
            return
        self._sending = None
        del self._views[: self._sending_up_to - 1]
        self._mail.remember(KnownView([one.weights for one in self._views[-_VIEWS:]]))

    def _deliver(self, delivery: Delivery) -> None:
        """Make what came durable, and say so; what is another's by the view here is not taken."""
        batch = delivery.batch
        run, number, returned = self._taken.get(delivery.sender, ("", 0, frozenset[int]()))
        if (run, number) != (delivery.run, batch.number):
            mine = [] if self._standing.over else [one for one in batch.items if self._may_be_mine(one.url)]
            returned = frozenset(one.id for one in batch.items) - {one.id for one in mine}
            good = [one for one in mine if _is_normal(one.url)]
            if good:
                self._standing.stir()
                self._mail.put((one.url, one.depth, one.hops, one.referrer) for one in good)
                self.came += len(good)
                self._ports.look_again()
            self._taken[delivery.sender] = delivery.run, batch.number, returned
        self._communicator.acknowledge(delivery, returned)

    def _may_be_mine(self, url: str) -> bool:
        """Whether a URL is for a site of this agent; what is no URL is nobody's, and goes no further."""
        return not _is_normal(url) or self._partition.is_mine(self._mail.key_of(url))

    # -- what comes ----------------------------------------------------------------------------------------

    def _take(self, arrival: Arrival, now: float) -> None:
        name = arrival.sender
        if name not in self._members.members:
            if isinstance(arrival, Note) and arrival.topic == "how":
                self._welcome(name, arrival.body)
            return
        self._detector.heard(name, now)
        match arrival:
            case Delivery():
                self._deliver(arrival)
            case Receipt():
                self._post.receipt(arrival)
            case Note(topic="beat"):
                self._hear_beat(arrival)
            case Note(topic="ask", body=body):
                self._tell(name, "report", {"wave": _whole(body, "wave")} | self._report_body())
            case Note(topic="report", body=body):
                wave = _whole(body, "wave")
                if self._vigil.note(name, wave):
                    self._views_of[name] = str(body.get("view", ""))
                elif self._census.note(wave, name, _report(arrival.run, body)):
                    self._conclude(now)
            case Note(topic="over", body=body):
                self._know_over.add(name)
                self._hear_over(str(body.get("view", "")), _weights(str(body.get("agents", ""))))
            case _:
                pass

    def _hear_beat(self, beat: Note) -> None:
        if self._vigil.on and beat.sender in self._vigil.missing:
            return  # it was said while this agent slept, or may have been
        run, number = self._newest.get(beat.sender, (beat.run, 0))
        said = _whole(beat.body, "number")
        if run != beat.run or said >= number:
            self._newest[beat.sender] = beat.run, said
            self._views_of[beat.sender] = str(beat.body.get("view", ""))

    def _welcome(self, name: str, body: NoteBody) -> None:
        """Tell a guest how this agent is."""
        self._guests[name] = str(body.get("reply", ""))
        if len(self._guests) > _GUESTS:
            self._guests.popitem(last=False)
        self._communicator.tell("status", self._status(), name)

    def _status(self) -> NoteBody:
        now = boot_clock()
        sums = self._mail.sums()
        view = self._partition.map.view
        return {
            "view": view.version,
            "living": " ".join(view.weights),
            "suspected": " ".join(sorted(self._detector.suspected(now))),
            "share": round(view.shares().get(self._me, 0.0), 4),
            "agreed": int(self._standing.agreed),
            "over": int(self._standing.over),
            "pages": self._mail.pages(),
            **{"sent": sums.sent, "received": sums.received, "waiting": sums.waiting},
            **{"sent_again": self.sent_again, "returned": self._post.returned},
            **{"messages": self.notes + self._post.batches, "unagreed": self._standing.unagreed},
            "refused": sum(self._communicator.dropped().values()),
            **self._ports.figures(),
        }

    # -- the end -------------------------------------------------------------------------------------------

    def _may_ask(self) -> bool:
        standing = self._standing
        return standing.quiet and standing.agreed and not standing.over and self._sending is None

    def _ask(self, now: float) -> None:
        """Ask all how they stand, where nothing is left here."""
        if now < self._census_at or not self._may_ask() or not self._post.is_empty:
            return
        self._census_at = now + _CENSUS
        view = self._partition.map.view
        self._census.begin(view.version, view.weights)
        for name in view.weights:
            if name != self._me:
                self._tell(name, "ask", {"wave": self._census.number})
        if self._census.note(self._census.number, self._me, _report(self._run, self._report_body())):
            self._conclude(now)

    def _report_body(self) -> dict[str, str | int | float]:
        sums = self._mail.sums()
        standing = self._standing
        quiet = standing.quiet and self._sending is None and not self._ports.holding()
        return {
            **{"view": self._told_view, "quiet": int(quiet or standing.over), "stirred": standing.stirred},
            **{"sent": sums.sent, "received": sums.received, "waiting": sums.waiting},
        }

    def _conclude(self, now: float) -> None:
        if self._census.is_over():
            self._hear_over(self._partition.map.view.version, self._partition.map.view.weights)
        elif self._census.may_be_over:
            self._census_at = now  # the second one, at once

    def _hear_over(self, version: str, weights: Mapping[str, int]) -> None:
        """Note that all is over by a view, as its agents have found, of whom this is one if it goes by it.

        If it is none of them, they took it for dead, and have crawled what was its own: nothing is left for it.
        """
        if self._standing.over or self._left_out is not None:
            return
        self._over_by = version
        self._over_stirred = self._standing.stirred
        view = View(weights)
        if weights and self._me not in weights and view.version == version:
            self._left_out = view
            self._ports.say(
                f"the others ({', '.join(weights)}) have crawled what was this agent's, and ended: so does it"
            )

    def _end(self) -> None:
        """Let the machine end: all is over, which never changes again."""
        self._tell_over()
        self._mail.leave_to_others(self._partition.is_mine)
        self._mail.remember(KnownView([self._partition.map.view.weights], over=True))
        self._standing.over = True
        self._ports.look_again()

    def _are_to_be_told(self) -> bool:
        """Whether there are agents of whom it is not known that they know; one that was silent may only sleep."""
        return self._left_out is None and not self._know_over >= set(self._members.members) - {self._me}

    # -- notes ---------------------------------------------------------------------------------------------

    def _tell_over(self) -> None:
        weights = self._partition.map.view.weights
        self._tell_all("over", {"view": self._over_by, "agents": " ".join(f"{n}:{w}" for n, w in weights.items())})

    def _tell_all(self, topic: str, body: NoteBody) -> None:
        for name in self._members.members:
            if name != self._me:
                self._tell(name, topic, body)

    def _tell(self, name: str, topic: str, body: NoteBody) -> None:
        if self._communicator.tell(topic, body, name):
            self.notes += 1


def _is_normal(url: str) -> bool:
    """Whether a URL is as agents send it; whoever signs another one is of another version, or lies."""
    return normalise(url).url == url


def _weights(text: str) -> dict[str, int]:
    """Read names and weights, `NAME:WEIGHT` each; what is none of these says nothing."""
    pairs = (one.rpartition(":") for one in text.split())
    return {name: int(weight[:9]) for name, _, weight in pairs if name and weight.isascii() and weight.isdigit()}


def _whole(body: NoteBody, key: str) -> int:
    found = body.get(key)
    return found if isinstance(found, int) else 0


def _report(run: str, body: Mapping[str, str | int | float]) -> Report:
    return Report(
        run=run,
        view=str(body.get("view", "")),
        quiet=bool(body.get("quiet", 0)),
        sent=_whole(body, "sent"),
        received=_whole(body, "received"),
        waiting=_whole(body, "waiting"),
        stirred=_whole(body, "stirred"),
    )
