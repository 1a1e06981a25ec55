"""The pause that a host needs which refuses what comes too fast, and does not say how fast it may come. No I/O.

The pause that worked after a refusal is kept, and shortened with each answer that is none: quickly at first, and slowly
where it comes near the pause with which the host has refused before. So a limit is met a few times, and not with each
burst of requests (as TCP finds its rate: additive increase, multiplicative decrease). A 503 may be a page's own fault:
the pause after it is shorter, and shortened faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_FAST: Final = 0.8  # by which the pause is multiplied with each answer
_SLOWLY: Final = 0.995  # ... near that with which the host has refused
_DOUBTFULLY: Final = 0.95  # ... where it may have been the fault of pages
_NEAR: Final = 1.5  # times the pause with which the host has refused
_LEAST: Final = 0.01  # seconds; a shorter pause is none


@dataclass(slots=True)
class Pace:
    """What is known of the pause between two requests that a host needs; all in seconds."""

    pause: float = 0.0  # the one that is kept; 0: none is known yet
    refused: float = 0.0  # the one with which it has refused last
    rest: float = 0.0  # the rest that is tried now; 0: the last answer was no refusal
    doubtful: bool = False  # whether the last refusal may be a page's own fault

    def refuse(self, rest: float, usual: float, doubtful: bool) -> None:
        """Note a refusal, after which the host rests; `usual` is the pause that it has without any refusal."""
        if not self.rest:
            self.refused = max(self.pause, usual)
        self.rest = rest
        self.doubtful = doubtful

    def serve(self) -> None:
        """Note that the host has served: the pause that worked is kept, or it is made shorter."""
        if self.rest:
            twice = 2 * max(self.refused, _LEAST)
            is_near = self.doubtful or self.pause > 0
            self.pause = min(self.rest, twice) if is_near else self.rest
            self.rest = 0.0
        elif self.doubtful:
            self.pause *= _DOUBTFULLY
        elif self.pause > _NEAR * self.refused:
            self.pause = max(_FAST * self.pause, _NEAR * self.refused)
        else:
            self.pause *= _SLOWLY

    def is_over(self, usual: float) -> bool:
        """Tell whether the host needs no other pause than the usual one."""
        return not self.rest and self.pause <= max(usual, _LEAST)
