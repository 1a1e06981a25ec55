"""What is told of URLs that were left out: as traps, for their depth, or because their sites refused."""

from __future__ import annotations

from collections.abc import Mapping

from scrawler.cli.tables import printable
from scrawler.model.left_out import LeftOut
from scrawler.model.seeds import EndReason
from scrawler.units import counted


def left_out_text(traps: LeftOut, end_reasons: Mapping[str, int], pushed_back: Mapping[str, int]) -> dict[str, str]:
    """Say, under labels, what was left out and what fetches it; nothing where nothing was.

    `pushed_back` has the numbers of seeds whose sites refused, by kind.
    """
    depth = _depth_text(end_reasons.get(EndReason.MAX_DEPTH.value, 0))
    return _traps_text(traps) | depth | _pushed_back_text(pushed_back)


def _traps_text(traps: LeftOut) -> dict[str, str]:
    if not traps.pattern:
        return {}
    pattern, seeds = printable(traps.pattern), counted(traps.seeds, "seed")
    if not traps.urls:
        return {"left out as traps": f"links of {seeds}, most of them {pattern}"}
    told = f"{counted(traps.urls, 'URL')} of {seeds}, most of them {pattern}"
    return {"left out as traps": f"{told}; `scrawler run --retry urls --result trap` fetches them"}


def _pushed_back_text(kinds: Mapping[str, int]) -> dict[str, str]:
    if not kinds:
        return {}
    seeds = counted(sum(kinds.values()), "seed")
    told = ", ".join(f"{kind}: {number:,}" for kind, number in kinds.items())
    return {"pushed back": f"{seeds} ({told}); `scrawler run --retry {EndReason.PUSHED_BACK}` goes on with them"}


def _depth_text(seeds: int) -> dict[str, str]:
    if not seeds:
        return {}
    what = f"links of {counted(seeds, 'seed')} that lie too deep"
    return {"left out for depth": f"{what}; `--retry {EndReason.MAX_DEPTH} --max-depth N` follows them"}
