"""Whether the sites of a crawl were gone through: where they were not, that nothing is broken says nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from scrawler.model.seeds import EndReason, SeedState
from scrawler.units import counted

_WHOLE = frozenset((EndReason.COMPLETED, EndReason.COVERED, EndReason.ENDLESS))
_LIMITS = frozenset((EndReason.MAX_DEPTH, EndReason.MAX_PAGES, EndReason.MAX_BYTES, EndReason.MAX_TIME))
_BROKEN = frozenset((EndReason.HTTP_ERROR, EndReason.NO_ADDRESS))  # the seed's own URL is listed as broken


@dataclass(slots=True)
class SeedsChecked:
    """How many seeds have pages that nobody has checked, by what stood in the way."""

    total: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)  # end reasons; "not crawled yet" where there is none
    limited: Counter[str] = field(default_factory=Counter)  # limits that the user had set

    @classmethod
    def of(cls, ends: Mapping[SeedState, Mapping[EndReason | None, int]]) -> Self:
        """Sort seeds by their ends."""
        found = cls()
        for reasons in ends.values():
            for reason, number in reasons.items():
                found.total += number
                if reason is None:
                    found.unchecked["not crawled to its end"] += number
                elif reason in _LIMITS:
                    found.limited[reason.value] += number
                elif reason not in _WHOLE | _BROKEN:
                    found.unchecked[reason.value] += number
        if not found.total:
            found.unchecked["the crawl has no seeds"] += 0
        return found

    def totals(self) -> dict[str, str]:
        """Return what is to be said of seeds, by name; nothing where all were gone through."""
        kinds = {"seeds not checked": self.unchecked, "seeds at a limit": self.limited}
        return {name: _reasons(kind) for name, kind in kinds.items() if kind}

    def lines(self) -> Iterator[str]:
        """Yield lines about seeds that were not gone through."""
        if not self.total:
            yield "nothing was checked: this crawl has no seeds; `scrawler import FILE` brings some"
        elif self.unchecked:
            seeds = counted(self.unchecked.total(), "seed")
            yield f"{seeds} could not be checked ({_reasons(self.unchecked)}): that is no sign that all works"
        if self.limited:
            seeds = counted(self.limited.total(), "seed")
            yield f"{seeds} came to a limit ({_reasons(self.limited)}): what lies beyond is not checked"


def _reasons(kind: Counter[str]) -> str:
    return ", ".join(f"{number:,} {reason}" if number else reason for reason, number in sorted(kind.items()))
