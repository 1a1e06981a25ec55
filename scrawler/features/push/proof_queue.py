"""Which key file is read next: nobody who names files that cannot be had holds up the proofs of others for long.

A proof that was not looked at yet has one of its site's places, of which a sender may have few; where the files of one
host take them, another host's takes one of these, and what gives way stays in the database until there is room. A file
that could not be had has no such place any more: it waits to be asked for again, behind those that were never asked
for. The files at the place where IndexNow looks for them have places of their own and go first, as that they hang takes
a server that hangs. Of sites whose files could not be had, not all threads ask at a time.

Decisions alone: nothing here waits, or knows what time it is.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from scrawler.features.push.proof import Proof
from scrawler.features.push.store.pushes import KnownSite

_ALL = 1_000  # proofs that wait, those of each kind
_SITES = 1_000  # of which is remembered that their files could not be had


class Wanted(NamedTuple):
    """A proof that waits, or is looked at."""

    proof: Proof
    site: KnownSite
    sender: str  # a client's address; empty: it was in the database when the listener began
    number: int  # they are counted as they come
    tries: int = 0  # in which its file could not be had
    due: float = 0.0  # before which it is not looked at again


@dataclass(slots=True)
class _Site:
    """The proofs of one site that wait."""

    new: list[Wanted] = field(default_factory=list)
    later: list[Wanted] = field(default_factory=list)  # whose files could not be had
    asked: Wanted | None = None
    due: float = 0.0  # before which the site is not asked: a machine has it
    turns: dict[str, int] = field(default_factory=dict)  # when a host was asked last

    def all(self) -> Iterator[Wanted]:
        """Yield all, that which is looked at among them."""
        yield from self.new
        yield from self.later
        if self.asked is not None:
            yield self.asked


class ProofQueue:
    """The proofs that wait; whoever uses it guards it."""

    def __init__(self, of_a_site: int, of_a_sender: int, threads: int) -> None:
        """Of a site so many may wait, in each of the two kinds of places, and of one sender among them."""
        self._of_a_site = of_a_site
        self._of_a_sender = of_a_sender
        self._threads = threads
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._queued: dict[Proof, str] = {}  # keys of their sites
        self._troubled: OrderedDict[str, int] = OrderedDict()  # how often in a row files of a site could not be had
        self._number = 0

    def __contains__(self, proof: Proof) -> bool:
        return proof in self._queued

    def waits_for_another_try(self, proof: Proof) -> bool:
        """Tell whether the file of a proof could not be had."""
        site = self._sites.get(self._queued.get(proof, ""))
        return site is not None and any(one.proof == proof for one in site.later)

    def has_room(self, proof: Proof, site: KnownSite, sender: str) -> bool:
        """Tell whether a proof of a site would find a place."""
        if proof in self._queued:
            return True
        here = self._sites.get(site.key) or _Site()
        alike = _alike(here, proof)
        if sender and sum(one.sender == sender for one in alike) >= self._of_a_sender:
            return False
        if len(alike) < self._of_a_site:
            return sum(len(one.new) for one in self._sites.values()) < _ALL
        return bool(sender) and _yielding(alike, proof) is not None

    def add(self, proof: Proof, site: KnownSite, sender: str) -> bool:
        """Let a proof wait; return whether it does."""
        if proof in self._queued:
            return True
        if not self.has_room(proof, site, sender):
            return False
        here = self._sites.setdefault(site.key, _Site())
        alike = _alike(here, proof)
        if len(alike) >= self._of_a_site and (gives_way := _yielding(alike, proof)) is not None:
            here.new.remove(gives_way)
            del self._queued[gives_way.proof]
        self._number += 1
        here.new.append(Wanted(proof, site, sender, self._number))
        self._queued[proof] = site.key
        return True

    def next(self, now: float) -> Wanted | None:
        """Take what is to be looked at now; its site is asked for nothing else until it is put back, or done."""
        troubled = sum(one.asked is not None and key in self._troubled for key, one in self._sites.items())
        found: tuple[int, str, Wanted] | None = None
        for key, here in self._sites.items():
            trouble = self._troubled.get(key, 0)
            if here.asked is not None or here.due > now or (trouble and troubled >= self._threads - 1):
                continue
            if found is not None and trouble >= found[0]:
                continue
            if (wanted := _first(here, now)) is not None:
                found = trouble, key, wanted
        if found is None:
            return None
        _, key, wanted = found
        here = self._sites[key]
        (here.later if wanted.tries else here.new).remove(wanted)
        here.asked = wanted
        self._number += 1
        here.turns[wanted.proof.host] = self._number
        self._sites.move_to_end(key)
        return wanted

    def put_back(self, wanted: Wanted, due: float) -> None:
        """Let a proof wait that could not be looked at, through no fault of its file, and all of its site with it."""
        here = self._sites[wanted.site.key]
        here.asked = None
        here.due = due
        (here.later if wanted.tries else here.new).append(wanted)

    def failed(self, wanted: Wanted, due: float) -> Wanted | None:
        """Let a proof wait whose file could not be had; return one of the site that is given up for it, if any."""
        key = wanted.site.key
        here = self._sites[key]
        here.asked = None
        here.later.append(wanted._replace(tries=wanted.tries + 1, due=due))
        self._troubled[key] = self._troubled.pop(key, 0) + 1
        if len(self._troubled) > _SITES:
            self._troubled.popitem(last=False)
        all_later = sum(len(one.later) for one in self._sites.values())
        if len(here.later) <= self._of_a_site and all_later <= _ALL:
            return None
        hosts = Counter(one.proof.host for one in here.later)
        gone = max(here.later, key=lambda one: (hosts[one.proof.host], one.tries, -one.number))
        self.done(gone, answered=False)
        return gone

    def done(self, wanted: Wanted, answered: bool = True) -> None:
        """Forget a proof: what its file says is known, or it is given up."""
        key = wanted.site.key
        here = self._sites[key]
        if here.asked is not None and here.asked.proof == wanted.proof:
            here.asked = None
        here.later = [one for one in here.later if one.proof != wanted.proof]
        self._queued.pop(wanted.proof, None)
        if answered:
            self._troubled.pop(key, None)
        if not any(here.all()):
            del self._sites[key]


def _alike(here: _Site, proof: Proof) -> list[Wanted]:
    """Return the proofs of a site that have the same kind of places."""
    return [one for one in here.new if one.proof.is_usual == proof.is_usual]


def _yielding(alike: list[Wanted], proof: Proof) -> Wanted | None:
    """Return what gives way to a proof of another host: the last one of the host that has the most places."""
    hosts = Counter(one.proof.host for one in alike)
    most = max(hosts.values(), default=0)
    if most <= hosts[proof.host] + 1:
        return None
    return next(one for one in reversed(alike) if hosts[one.proof.host] == most)


def _first(here: _Site, now: float) -> Wanted | None:
    """Return what of a site comes first, if anything is due."""
    due = [one for one in (*here.new, *here.later) if one.due <= now]

    def turn(one: Wanted) -> tuple[int, bool, int, int]:
        return one.tries, not one.proof.is_usual, here.turns.get(one.proof.host, 0), one.number

    return min(due, key=turn, default=None)
