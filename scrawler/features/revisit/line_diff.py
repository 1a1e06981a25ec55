"""A unified diff in bounded time: that of Python's difflib grows with the product of both texts, and can take hours.

What both texts begin and end with goes first. Of the rest, lines that each text has once are anchors, as far as they
come in the same order (patience diff). Between two anchors difflib compares, while there is budget for it; what is left
then is shown as replaced. The result is always right; with a bad text it is only longer than it need be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_BUDGET = 20_000_000  # steps that difflib may take at worst, all blocks together ...
_BLOCK = 5_000_000  # ... and one
_CONTEXT = 3  # lines

Opcode = tuple[str, int, int, int, int]
_Match = tuple[int, int]


def unified(
    before: Sequence[str], after: Sequence[str], names: tuple[str, str], dates: tuple[str, str]
) -> Iterator[str]:
    """Yield the lines of a unified diff, none where both are equal."""
    groups = _groups(_opcodes(before, after))
    for number, group in enumerate(groups):
        if not number:
            yield f"--- {names[0]}\t{dates[0]}"
            yield f"+++ {names[1]}\t{dates[1]}"
        _, begin, _, other, _ = group[0]
        _, _, end, _, other_end = group[-1]
        yield f"@@ -{_range(begin, end)} +{_range(other, other_end)} @@"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[a:b])
                continue
            yield from (f"-{line}" for line in before[a:b])
            yield from (f"+{line}" for line in after[c:d])


def _range(begin: int, end: int) -> str:
    length = end - begin
    if length == 1:
        return str(begin + 1)
    return f"{begin + (length > 0)},{length}"  # of an empty range the line before it


def _groups(opcodes: list[Opcode]) -> Iterator[list[Opcode]]:
    """Yield changes with the lines around them, those together that are near each other."""
    matcher = SequenceMatcher(None, "", "")
    vars(matcher)["opcodes"] = opcodes  # which it would else find by itself
    if any(tag != "equal" for tag, *_ in opcodes):
        yield from matcher.get_grouped_opcodes(_CONTEXT)


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """Return how one text becomes the other, as difflib has it, equal and other parts in turn."""
    found: list[Opcode] = []
    a = b = 0
    for begin, other, length in [*_blocks(before, after), (len(before), len(after), 0)]:
        if a < begin and b < other:
            found.append(("replace", a, begin, b, other))
        elif a < begin:
            found.append(("delete", a, begin, b, other))
        elif b < other:
            found.append(("insert", a, begin, b, other))
        if length:
            found.append(("equal", begin, begin + length, other, other + length))
        a, b = begin + length, other + length
    return found


def _blocks(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the parts that are the same: where they begin in both, and how many lines they have; none touch."""
    joined: list[tuple[int, int, int]] = []
    for a, b, length in _matches(before, after):
        if joined and joined[-1][0] + joined[-1][2] == a and joined[-1][1] + joined[-1][2] == b:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + length)
        else:
            joined.append((a, b, length))
    return joined


def _matches(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    shorter = min(len(before), len(after))
    head = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    tail = next((n for n in range(shorter - head) if before[-1 - n] != after[-1 - n]), shorter - head)
    if head:
        yield 0, 0, head
    end, other_end = len(before) - tail, len(after) - tail
    budget, a, b = _BUDGET, head, head
    for anchor, other in [*_anchors(before, after, head, end, other_end), (end, other_end)]:
        steps = _steps(before[a:anchor], after[b:other])
        if 0 < steps <= min(budget, _BLOCK):
            budget -= steps
            matcher = SequenceMatcher(None, before[a:anchor], after[b:other], autojunk=False)
            yield from ((a + x, b + y, length) for x, y, length in matcher.get_matching_blocks() if length)
        if anchor < end:
            yield anchor, other, 1
        a, b = anchor + 1, other + 1
    if tail:
        yield end, other_end, tail


def _steps(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many steps difflib takes at worst: for each part that is the same it looks at all equal pairs."""
    parts = min(len(before), len(after))
    if not parts or (len(before) + len(after)) * parts > _BLOCK:
        return (len(before) + len(after)) * parts
    number = Counter(after)
    pairs = sum(number[line] for line in before)
    return (pairs + len(before) + len(after)) * parts


def _anchors(before: Sequence[str], after: Sequence[str], begin: int, end: int, other_end: int) -> list[_Match]:
    """Return lines that both texts have once, the most that come in the same order: places in both."""
    once = Counter(before[begin:end])
    other_once = Counter(after[begin:other_end])
    place = {after[n]: n for n in range(begin, other_end) if other_once[after[n]] == 1}
    pairs = [(n, place[before[n]]) for n in range(begin, end) if once[before[n]] == 1 and before[n] in place]
    return _rising(pairs)


def _rising(pairs: list[_Match]) -> list[_Match]:
    """Return the longest part of pairs whose second numbers rise (patience sorting)."""
    tops: list[int] = []  # second numbers of the last pairs of the best parts so far, by length
    last: list[int] = []  # the pairs, by index
    before: list[int] = []
    for index, (_, other) in enumerate(pairs):
        length = bisect_left(tops, other)
        before.append(last[length - 1] if length else -1)
        tops[length : length + 1] = [other]
        last[length : length + 1] = [index]
    found, index = [], last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
