"""Regular expressions that may take for ever: in how many ways a repetition can be read.

Python's engine tries all ways of reading a text before it says no. A repetition within a repetition, as `(a+)+`, or a
choice in one whose branches begin alike, as `(a|ab)*`, has twice as many ways with each character (J. Kirrage,
A. Rathnayake, H. Thielecke, "Static Analysis for Regular Expression Denial-of-Service Attacks", NSS 2013). One is told
from a harmless one, as `([a-z]+/)*`, by what separates its rounds: a character that cannot stand elsewhere in a round.
What is asked errs on the safe side: a few harmless ones are taken for ambiguous. Characters are those of URLs, ASCII.
"""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from typing import Any

FEW = 8  # rounds; a repetition that ends so soon has few ways to be read
_ASCII = [chr(code) for code in range(128)]
GROUPS = (codes.SUBPATTERN, codes.ATOMIC_GROUP) if hasattr(codes, "ATOMIC_GROUP") else (codes.SUBPATTERN,)
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
ONE = (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY)

Item = tuple[Any, Any]  # a code of the parser's, and its arguments


def is_ambiguous(pattern: str) -> bool:
    """Tell whether a regular expression may take exponential time. Raises re.error."""
    return _is_ambiguous(parser.parse(pattern), False)


def _is_ambiguous(items: Any, within: bool) -> bool:
    return any(_item_is(item, within) for item in items)


def _item_is(item: Item, within: bool) -> bool:
    code, arguments = item
    if code in REPEATS:
        _least, most, body = arguments
        if most <= FEW:
            return _is_ambiguous(body, within)
        return not _is_separated(list(flat(body))) or _is_ambiguous(body, True)
    return any(_is_ambiguous(part, within) for part in _parts(item))


def _parts(item: Item) -> Iterator[Any]:
    """Yield what stands within an item that is no repetition."""
    code, arguments = item
    if code in GROUPS:
        yield arguments[-1] if code is codes.SUBPATTERN else arguments
    elif code is codes.BRANCH:
        yield from arguments[1]
    elif code in (codes.ASSERT, codes.ASSERT_NOT):
        yield arguments[1]
    elif code is codes.GROUPREF_EXISTS:
        yield from (part for part in arguments[1:] if part)
    elif hasattr(codes, "POSSESSIVE_REPEAT") and code is codes.POSSESSIVE_REPEAT:
        yield arguments[2]


def flat(items: Any) -> Iterator[Item]:
    """Yield the items of a sequence, those of plain groups in their place."""
    for item in items:
        if item[0] is codes.SUBPATTERN:
            yield from flat(item[1][-1])
        else:
            yield item


def is_fixed(body: list[Item]) -> bool:
    """Tell whether each round of a repetition's body has the same length, and can be read in one way."""
    return all(item[0] in ONE or item[0] is codes.AT for item in body)


def is_read_in_one_way(body: list[Item]) -> bool:
    """Tell whether a text is rounds of a body in one way at most; this errs on the safe side only.

    Each repetition in it has to end before a character that it cannot have, in the next round at the latest.
    """
    if is_fixed(body) or (len(body) == 1 and body[0][0] is codes.BRANCH):
        return _is_separated(body)
    after = body + body
    return _is_separated(body) and all(
        after[place + 1][0] in ONE and not _letters([item]) & _letters([after[place + 1]])
        for place, item in enumerate(body)
        if item[0] in REPEATS
    )


def _is_separated(body: list[Item]) -> bool:
    """Tell whether a text is rounds of a repetition's body in one way at most, as far as it can be told."""
    if is_fixed(body):
        return True
    if len(body) == 1 and body[0][0] is codes.BRANCH:
        return _branches_differ(body[0])
    flexible = [item for item in body if item[0] not in ONE and item[0] is not codes.AT]
    elsewhere = frozenset[str]().union(*(_letters([item]) for item in flexible))
    fixed = [_letters([item]) for item in body if item[0] in ONE]
    return any(not (letters & elsewhere) for letters in fixed) and all(_is_simple(item) for item in flexible)


def _is_simple(item: Item) -> bool:
    """Tell whether an item is a repetition of single characters, or a choice that the first character makes."""
    code, arguments = item
    if code in REPEATS:
        return all(one[0] in ONE for one in flat(arguments[2]))
    return code is codes.BRANCH and _branches_differ(item)


def _branches_differ(item: Item) -> bool:
    """Tell whether the branches of a choice are of fixed length, and begin with different characters."""
    seen: set[str] = set()
    for branch in item[1][1]:
        items = list(flat(branch))
        if not items or any(one[0] not in ONE for one in items):
            return False
        first = _letters(items[:1])
        if first & seen:
            return False
        seen |= first
    return True


def _letters(items: list[Item]) -> frozenset[str]:
    """Return the characters that can stand in a text of these items; all where that is not known."""
    found: set[str] = set()
    for item in items:
        code, arguments = item
        if code in ONE:
            found |= _of_one(item)
        elif code in REPEATS:
            found |= _letters(list(flat(arguments[2])))
        elif code is codes.BRANCH:
            for branch in arguments[1]:
                found |= _letters(list(flat(branch)))
        elif code is not codes.AT:
            return frozenset(_ASCII)
    return frozenset(found)


def _of_one(item: Item) -> set[str]:
    code, arguments = item
    if code is codes.LITERAL:
        return _in_both_cases({chr(arguments)})
    if code is codes.NOT_LITERAL:
        return set(_ASCII) - {chr(arguments)}
    if code is codes.IN:
        return _in_both_cases({letter for letter in _ASCII if _is_in(letter, arguments)})
    return set(_ASCII)


def _in_both_cases(letters: set[str]) -> set[str]:
    """Return letters as they may be read where case makes no difference."""
    return letters | {letter.lower() for letter in letters} | {letter.upper() for letter in letters}


def _is_in(letter: str, members: list[Item]) -> bool:
    negated: bool = bool(members) and members[0][0] is codes.NEGATE
    return any(_is_member(letter, one) for one in members[negated:]) != negated


def _is_member(letter: str, member: Item) -> bool:
    code, arguments = member
    if code is codes.LITERAL:
        return letter == chr(arguments)
    if code is codes.RANGE:
        return ord(letter) in range(arguments[0], arguments[1] + 1)
    return bool(re.match(_CLASSES[arguments], letter)) if arguments in _CLASSES else True


_CLASSES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
