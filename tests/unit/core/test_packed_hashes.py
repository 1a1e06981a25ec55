"""Hashes that are packed behind each other: what a dictionary says, whatever their bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrawler.core.traps.hashes import PackedHashes

_LEAST, _MOST = -(2**63), 2**63 - 1
# Few different bytes: so the end of one hash and the begin of the next often look like a third.
_HASHES = st.lists(st.sampled_from(b"\0\1"), min_size=8, max_size=8).map(
    lambda found: int.from_bytes(bytes(found), "little", signed=True)
) | st.sampled_from([_LEAST, -1, 0, _MOST])


@given(st.lists(st.tuples(st.booleans(), _HASHES), max_size=60), st.integers(0, 20))
def test_hashes_are_kept_in_order_and_found_as_in_a_dictionary(steps: list[tuple[bool, int]], kept: int) -> None:
    packed, known = PackedHashes(), dict[int, None]()
    for removes, number in steps:
        if removes or number in known:
            assert packed.remove(number) is (number in known)
            known.pop(number, None)
        else:
            packed.append(number)
            known[number] = None
        assert len(packed) == len(known)
    packed.keep_first(kept)
    for at, number in enumerate(known):
        assert packed.remove(number) is (at < kept)
