"""What comes of a response that has landed, by what its request was for.

A fault of this program that it meets on the way ends its URL, and with too many of them its seed; see `faults`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.page_rows import robots_record
from scrawler.core.answers.reading import AnswerReader
from scrawler.core.answers.steps import Restores
from scrawler.core.asking.origins import Origins
from scrawler.core.party.context import SeedContext
from scrawler.core.party.flights import AliasFlight, Flight, PageFlight, ProbeFlight, RobotsFlight
from scrawler.core.party.site import SiteContext
from scrawler.faults import Fault, fault_of
from scrawler.fetch.downloader import Response
from scrawler.model.exchange import WaitingUrl


class Landing:
    """Reads responses, which needs no turn, and applies them, which needs it; shared by the collectors.

    `restores` are methods of the steps of features (see `core.answers.steps.Step`), which make answers whole.
    `tell(url, fault)` is called, under the turn, for each fault that an answer has met.
    """

    def __init__(
        self,
        reader: AnswerReader,
        answers: AnswerHandler,
        origins: Origins,
        tell: Callable[[str, Fault], None],
        restores: Restores = (),
    ) -> None:
        self._reader = reader
        self._answers = answers
        self._origins = origins
        self._tell = tell
        self._restores = restores

    def read(self, flight: Flight, response: Response) -> PageRead | None:
        """Archive and read the answer of a page, archive that of a robots.txt; None for others. Raises ArchiveError."""
        if isinstance(flight, PageFlight):
            return self._reader.read(flight, response)
        return self._reader.archive(response) if isinstance(flight, RobotsFlight) else None

    def restore(self, flight: PageFlight, response: Response) -> Response:
        """Make an answer whole that says that nothing has changed, as far as features know what there was."""
        try:
            for restore in self._restores:
                response = restore(flight, response)
        except BaseException as error:
            return response.met(fault_of(error))
        return response

    def apply(self, flight: Flight, response: Response, reading: PageRead | None) -> Fault | None:
        """Apply a response to its site; return the fault that it met, if any.

        Raises PluginError, and what the machinery raises.
        """
        if isinstance(flight, PageFlight):
            assert reading is not None
            if reading.parts:
                flight.site.robots_records += tuple([robots_record(answer, record) for answer, record in reading.parts])
            fault = self._answers.handle(flight, response, reading)
            flight.party.in_flight -= 1
            flight.site.end_fetching(flight.entry.url)
        elif isinstance(flight, AliasFlight):
            fault = self._answers.handle_alias(flight, response)
        elif isinstance(flight, ProbeFlight):
            fault = response.fault  # what it tells was taken when it landed
        else:
            assert reading is not None
            fault = self._apply_robots(flight, response, reading)
        if fault is not None:
            self._tell(response.request.url, fault)
        return fault

    def list_arrived(self, site: SiteContext, parties: Iterable[SeedContext], one: WaitingUrl) -> bool:
        """List a URL that came from another site in the first party that takes it; False if there is none.

        One that meets a fault is left out, as a link would be. Raises PluginError.
        """
        if one.known is not None and one.known.state is not None:
            whose = one.known.state.seed_id
            parties = sorted(parties, key=lambda party: party.seed.id != whose)
        for party in parties:
            if party.leaving is not None:
                continue
            try:
                taken = self._answers.urls.list_arrived(site, party, one)
            except BaseException as error:
                fault = fault_of(error)
                party.note_fault(fault.text)
                self._tell(one.url, fault)
                return True
            if taken:
                return True
        return False

    def _apply_robots(self, flight: RobotsFlight, response: Response, reading: PageRead) -> Fault | None:
        fault = reading.fault
        if reading.record is not None:
            try:
                flight.site.robots_records += (robots_record(response, reading.record),)
            except BaseException as error:
                fault = fault_of(error)
        return self._origins.robots_answer(flight, response if fault is None else response.met(fault))
