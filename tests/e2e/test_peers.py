"""Every crawler that is compared finds all pages of a small broad web, if it can be had on this machine."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from experiments.broadweb.pages import Pages
from experiments.broadweb.server import why_not
from experiments.competitors.peer import Peer
from experiments.competitors.roster import peers
from experiments.competitors.turns import rows_of, take_turn
from experiments.competitors.webs import broad

_SITES, _PAGES, _DELAY = 3, Pages(count=4), 0.1
_ALL = _SITES * _PAGES.count
_LONGEST = 300  # in seconds; each takes some of them where nothing else runs
_OTHERS = [peer for peer in peers() if not (peer.name.startswith("scrawler") or peer.slow_to_start)]


@pytest.mark.experiments
@pytest.mark.parametrize("peer", _OTHERS, ids=lambda peer: str(peer.name))
def test_a_peer_finds_every_page(peer: Peer) -> None:
    if reason := peer.why_not() or why_not():
        pytest.skip(reason)
    with broad(_SITES, _PAGES, _DELAY) as web, ExitStack() as folders:
        rounds = [1] if peer.slow else [1, 2]
        turns = [take_turn(number, web, peer, _LONGEST, folders) for number in rounds]
        rows = rows_of(turns, {web.name: web.truth})
    for row in rows:
        assert row["complete"] == "yes"
        assert (row["pages"], row["missed"], row["forbidden"]) == (_ALL, 0, 0)
        assert int(row["requests"]) < 2 * _ALL, "each turn has the log of its own"
