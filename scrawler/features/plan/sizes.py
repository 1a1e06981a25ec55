"""Sizes of sites that nobody has crawled yet: assumed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from scrawler.errors import SettingsError
from scrawler.features.synthweb.site import SiteSizes
from scrawler.features.synthweb.spec import WebSpec
from scrawler.units import counted

_WRITTEN = re.compile(r"(pareto:)?(\d{1,9})", re.ASCII)
_SEED = 1  # the same sites get the same sizes each time


@dataclass(frozen=True, slots=True)
class AssumedSizes:
    """Pages of each site: all `mean`, or with a heavy tail (bounded Pareto) around it."""

    mean: int
    spread: bool

    @classmethod
    def parse(cls, text: str) -> AssumedSizes:
        """Read "40" or "pareto:40".

        Raises:
            SettingsError: it is neither, or below 1.
        """
        match = _WRITTEN.fullmatch(text)
        if match is None or int(match[2]) < 1:
            raise SettingsError(
                f"--pages-per-site {text!r} is not allowed, only a whole number, at least 1, or pareto: and its mean"
            )
        return cls(int(match[2]), match[1] is not None)

    def __str__(self) -> str:
        spread = " on the average, few sites with very many" if self.spread else ""
        return f"{counted(self.mean, 'page')} a site{spread}"

    def pages(self, sites: int) -> Iterator[int]:
        """Yield the pages of so many sites, in an order that does not depend on their size."""
        sizes = SiteSizes(WebSpec(seed=_SEED, sites=max(1, sites), mean_pages=self.mean, equal=not self.spread))
        return (sizes.pages(number) for number in range(sites))


def drawn(known: Sequence[int]) -> Iterator[int]:
    """Yield sizes drawn from those of known sites, without end."""
    dice = Random(_SEED)
    while True:
        yield dice.choice(known)
