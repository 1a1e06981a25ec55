"""What carries URLs and short notes from machine to machine: the interface, and what travels.

How a member of a crawl uses a communicator, whether or not there is a common database:

    communicator = TcpCommunicator("127.0.0.1:7000", address_of, Door("crawl", "a", secret))
    communicator.send(Batch(1, (Item(17, "http://there.example/", 3),)), "b")   # never blocks; False: try again later
    communicator.tell("heartbeat", {"load": 3}, "b")                              # may be lost; nobody says so
    match communicator.receive(timeout=1.0):
        case Delivery() as delivery:           # list the URLs, make that durable, and only then:
            communicator.acknowledge(delivery, returned=())
        case Receipt() as receipt:             # strike the batch out of the own outbox, but for what came back
            ...
        case Note() as note:
            ...
        case None:                             # nothing came in time, or `wake` was called
            ...

**A batch is delivered any number of times, or never.** A communicator keeps nothing: whoever sends has each batch in a
durable outbox (the table `outbox`) until its receipt is there, and sends it again where that takes too long, with the
same number or another one. So a receiver may get a URL twice, lists it once thanks to its seen filter, and acknowledges
it again. Batches may overtake each other.

**Members are addressed by name.** A name is one life of a process, or as long-lived as the member's own durable lists:
what is acknowledged by a name has to be known to whoever takes that name later. With a common database it is the number
of the machine, and the address of each stands in its row; without, `address_of` says where a name listens
(`address` of its communicator, told by whatever way members find each other). A broker needs names alone.

**All methods may be called by any thread, and none but `receive` blocks.** `receive` is for one thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

MAX_MESSAGE = 1 << 20  # bytes of a message, with all around it
MAX_ITEMS = 10_000  # URLs of a batch; a sender makes several batches of more
MAX_NAME = 255  # characters of a member's name
MAX_TOPIC = 64  # characters of a note's topic
MAX_NOTE = 1 << 16  # bytes of a note, as JSON
MOST_MEMBERS = 1_000  # from whom a port has connections at a time, and to whom
MOST_STRANGERS = 64  # connections of a port whose other ends have not proved yet who they are

NoteBody: TypeAlias = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Item:
    """A URL that is sent. `id` is the sender's own number of it: that of the row in its outbox."""

    id: int
    url: str
    depth: int = 0  # links from a user's seed, over all sites between
    hops: int = 0  # sites from there
    referrer: bytes = b""  # hash of the URL of the page that links to it


@dataclass(frozen=True, slots=True)
class Batch:
    """What is sent, and acknowledged, as one; numbers are the sender's, from 1, none twice in a life of its."""

    number: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A batch that has come in. What no crawl could want (a URL that is too long) is left out of it already."""

    sender: str
    run: str  # which life of the sender
    batch: Batch


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receiver says: all of a batch is durable here, but for the items of these ids, which are not mine."""

    sender: str  # of the receipt: who had received the batch
    number: int
    returned: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Note:
    """A short message besides URLs: a heartbeat, a change of members."""

    sender: str
    run: str
    topic: str
    body: NoteBody


Arrival: TypeAlias = Delivery | Receipt | Note


class Communicator(Protocol):
    """Carries messages between the members of a crawl; see the module on how it is used."""

    @property
    def name(self) -> str:
        """The name of this member."""

    @property
    def address(self) -> str:
        """Where others reach it, as `tcp://host:port`; empty where its name is enough."""

    def send(self, batch: Batch, to: str) -> bool:
        """Send a batch; False if that cannot be now (no address, a full queue, larger than MAX_MESSAGE)."""

    def tell(self, topic: str, body: NoteBody, to: str) -> bool:
        """Send a note that may be lost; False if it is lost already."""

    def acknowledge(self, delivery: Delivery, returned: frozenset[int] = frozenset()) -> bool:
        """Say that all of a batch is durable here, but for the items of these ids; it may be lost, as a note."""

    def receive(self, timeout: float) -> Arrival | None:
        """Return the next message that is genuine; None after `timeout` seconds, or at once when somebody wakes it."""

    def wake(self) -> None:
        """Let `receive` return; so a thread that waits there comes to its end."""

    def dropped(self) -> Mapping[str, int]:
        """Return how many messages were not let in, by the reason."""

    def close(self) -> None:
        """Send what is queued for a moment still, and let go of all sockets; a second call does nothing."""
