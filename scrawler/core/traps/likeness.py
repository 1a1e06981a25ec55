"""Whether a page says what earlier pages have said: its simhash is near one of theirs, and no word of it is new.

Which pages are asked, and what for, goes by a ladder, as reading the words of all would cost a fifth of a crawl of
numbered URLs (30 KB a page; `tests/bench/bench_traps.py` tells):

1. Of a group's first pages nothing is read (`traps`): what is commonest are sites with a few numbered pages.
2. Then the skeleton of each text is, at 5 us: how long the texts between the tags are, and a few bytes of the longer
   ones. Copies that differ in a number or a name mostly have the same, other pages hardly ever. The first skeleton that
   comes again begins the doubt.
3. In doubt the words of each page are read and compared, at 130 us, until eight in a row have said something new; from
   then on those of ever fewer, in the end of one in 33.
4. Without doubt words are read from where there are enough pages to cap their pattern at all: of one page in five, then
   of ever fewer, for copies whose skeletons differ. The first that says nothing new begins the doubt.

So 200 honest pages of 4,000 words have nine texts read. All that is skipped counts as new, so that the ladder saves
computing and caps nothing. Traps end about as soon as if the words of all pages in doubt were read: those of the trap
web after seven pages more at most, copies whose skeletons all differ after twenty to forty, and after eighty where
forty texts take turns. Nothing is known from elsewhere: what is fetched of a party does not depend on what else its
machine holds.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from scrawler.core.traps.says import Says
from scrawler.extract.simhash import (
    NEAR,
    WORD_BYTES,
    Fingerprint,
    Vocabulary,
    fingerprint_of,
    is_number,
    mark_of,
    picture_hash,
    words_in,
)

_EMBEDDED: Final = re.compile(
    rb"<(?:iframe|frame|video|audio|source|embed|object)\b[^>]{0,2000}?\b(?:src|data)\s*=\s*[\"']?\s*([^\"'\s>]+)",
    re.IGNORECASE,
)
_PICTURE: Final = re.compile(rb"<img\b[^>]{0,2000}?\bsrc\s*=\s*[\"']?\s*([^\"'\s>]+)", re.IGNORECASE)

_ALL_BITS = (1 << 64) - 1
_ALIKE = 8  # bits; of a short page a changed date alone makes more than NEAR differ
_SHORT = 64  # words of a page below which a few that change leave no simhash alike
_TABLE = 8  # new numbers on a page that make a table of it
_NEW_PICTURES = 4  # new pictures on a page that are looked at; with more it is a page of its own
_MOST_LINKS = 100  # links of a page that are looked at for numbers
_MOST_EMBEDDED = 50  # films and frames of a page that are looked at
_FEW = 0.1  # share of new words on a page below which it is as babble may be
_MANY = 0.8  # ... and above which it is, as well
_MOST_TOGETHER = 128  # words of a page that are looked at together
_PAGES_TOGETHER = 64  # pages of which it is known what they have shown
_LAST = 4  # pages with which one is compared word by word; a calendar goes on in two directions
_OTHERS = 2  # words that a page shows and none of them does, so that it differs
_NEW_WORDS_LOOKED_AT = 50  # pages with more new words have something to say
_REMEMBERED = 64  # simhashes, or skeletons, of pages unlike each other
_VOCABULARY = 8_192  # words, in 12 KB
_TRUSTED_AFTER = 8  # pages in a row with something new, after which not each of them is compared any more
_TRUST = 4  # for so many more of them, one page more is left out between two that are compared
_RAREST = 32  # so many pages at most are left out between two
_WITHOUT_DOUBT = 24  # pages in a row that are taken to have said something new where no skeleton came again


class Likeness(NamedTuple):
    """What a comparison came to."""

    near: bool  # a near copy: its simhash differs from an earlier one in at most NEAR bits
    says: Says
    few: bool  # whether next to none of its words are new, or next to all, as of babble
    differs: bool = False  # whether it shows known words and numbers that no page before it has shown together


class TextMemory:
    """Remembers the texts of one group of pages: their skeletons in 1 KB, and once words are read these in 15 KB."""

    __slots__ = ("_new_in_a_row", "_passed", "_skeletons", "_texts", "in_doubt")

    def __init__(self) -> None:
        self._skeletons = array("Q")  # of the newest pages
        self._texts: _Texts | None = None
        self._new_in_a_row = _WITHOUT_DOUBT  # and those after the first page that is compared
        self._passed = 0  # pages since the last one that was compared
        self.in_doubt = False  # whether skeletons are of no use any more

    def wants_words(self, skeleton: int | None, can_be_capped: bool) -> bool:
        """Tell whether the words of the next page are to be compared; its skeleton is not read where there is doubt.

        `can_be_capped` says that the group has pages enough for that.
        """
        if skeleton is not None and skeleton in self._skeletons:
            return True
        ever_fewer = min((self._new_in_a_row - _TRUSTED_AFTER) // _TRUST, _RAREST)
        return (self.in_doubt or can_be_capped) and self._passed >= ever_fewer

    def count(self, skeleton: int | None, compared: bool, repeats: bool) -> None:
        """Count a page; `repeats` says that it was found to say nothing new."""
        met = skeleton is not None and self._meet(skeleton)
        self._passed = 0 if compared else self._passed + 1
        if not self.in_doubt and (repeats or met):
            self.in_doubt = True
            self._skeletons = array("Q")
            self._new_in_a_row = 0
        elif repeats:  # which by chance one page of a hundred does that shares all its words with others
            self._new_in_a_row = min(self._new_in_a_row, _TRUSTED_AFTER) // 2
        elif self._texts is not None:
            self._new_in_a_row += 1

    def compare(self, url: str, text: Fingerprint, page: bytes, hrefs: Sequence[str]) -> Likeness:
        """Compare a page with those before it, and remember it."""
        if self._texts is None:
            self._texts = _Texts()
        return self._texts.compare(url, text, page, hrefs)

    def _meet(self, skeleton: int) -> bool:
        """Tell whether a skeleton was met; remember it."""
        met = skeleton in self._skeletons
        if not met:
            self._skeletons.append(skeleton)
            del self._skeletons[:-_REMEMBERED]
        return met


class _Texts:
    """Remembers texts by their simhashes and words."""

    __slots__ = ("_hashes", "_last", "_short", "_together", "_vocabulary")

    def __init__(self) -> None:
        self._hashes: deque[int] = deque(maxlen=_REMEMBERED)
        self._short: deque[int] = deque(maxlen=_REMEMBERED)
        self._vocabulary = Vocabulary(_VOCABULARY)
        self._together = array("q")  # of words that pages with nothing new have shown together
        self._last: deque[bytes] = deque(maxlen=_LAST)  # those of the last ones

    def compare(self, url: str, text: Fingerprint, page: bytes, hrefs: Sequence[str]) -> Likeness:
        """Compare a page with those before it, and remember it."""
        simhash = text.simhash & _ALL_BITS
        nearest = min(map(int.bit_count, map(simhash.__xor__, self._hashes)), default=64)
        alike = nearest <= _ALIKE or (text.size < _SHORT and self._met_but_for_numbers(url, text.words))
        new = self._vocabulary.unknown_packed(text.words, text.size)
        count = len(new) // WORD_BYTES
        says = Says.NEW if count > _NEW_WORDS_LOOKED_AT else self._says(url, words_in(new), page, hrefs)
        if says is Says.NOTHING and not alike:
            says = Says.LITTLE
        if nearest > _ALIKE:
            self._hashes.append(simhash)
        if new:
            self._learn(text)
        differs = says <= Says.LITTLE and text.size <= _MOST_TOGETHER and self._differs(url, text.words, hrefs)
        return Likeness(nearest <= NEAR, says, not _FEW * text.size <= count <= _MANY * text.size, differs)

    def _differs(self, url: str, words: bytes, hrefs: Sequence[str]) -> bool:
        """Tell whether no page has shown these words together, and the last ones two or more of them not.

        What stands in its URL and its links is no matter. The next month of a calendar shows one other word.
        """
        shown = frozenset(words_in(words)) - _echo(url) - _echo(" ".join(hrefs[:_MOST_LINKS]))
        others = min((len(shown.difference(words_in(last))) for last in self._last), default=len(shown))
        self._last.append(words)
        key = hash(shown)
        if key in self._together:
            return False
        self._together.append(key)
        del self._together[:-_PAGES_TOGETHER]
        return others >= _OTHERS

    def _met_but_for_numbers(self, url: str, words: bytes) -> bool:
        """Tell whether a short page had the same words but for numbers, and for what stands in its URL; remember it."""
        echo = _echo(url)
        key = hash(frozenset(word for word in words_in(words) if word not in echo and not is_number(word)))
        met = key in self._short
        if not met:
            self._short.append(key)
        return met

    def _says(self, url: str, new: list[int], page: bytes, hrefs: Sequence[str]) -> Says:
        """Tell what a page brings that none before it had; what stands in its URL may be an echo of that."""
        echo = _echo(url) if new else frozenset()
        new = [word for word in new if word not in echo]
        numbers = [word for word in new if is_number(word)]
        if len(numbers) < len(new):
            words = len(new) - len(numbers)
            return Says.LITTLE if words <= _NEW_PICTURES and _are_pictures(new, page) else Says.NEW
        if numbers:  # that of the next page is one as well
            echo = _echo(" ".join(hrefs[:_MOST_LINKS]))
            numbers = [word for word in numbers if word not in echo]
        if len(numbers) >= _TABLE:
            return Says.NUMBERS
        return Says.LITTLE if numbers or self._embeds_new(page) else Says.NOTHING

    def _embeds_new(self, page: bytes) -> bool:
        """Tell whether a page shows a film, a frame or a sound that none before it has shown; learn them."""
        found = array("Q", {mark_of(match[1]) for match in islice(_EMBEDDED.finditer(page), _MOST_EMBEDDED)}).tobytes()
        if not self._vocabulary.unknown(found, 1):
            return False
        self._vocabulary.learn(found)
        return True

    def _learn(self, text: Fingerprint) -> None:
        if text.size > _VOCABULARY:
            return
        self._vocabulary.learn(text.words)
        if self._vocabulary.count > _VOCABULARY:  # fuller, it would know words that it has never met
            self._vocabulary.clear()
            self._vocabulary.learn(text.words)


def _are_pictures(new: list[int], page: bytes) -> bool:
    """Tell whether all that is new on a page and no number is a picture."""
    shown = {picture_hash(match[1]) for match in _PICTURE.finditer(page)}
    return all(word in shown for word in new if not is_number(word))


def _echo(url: str) -> frozenset[int]:
    """Return the words of a URL, which its page may show."""
    return frozenset(words_in(fingerprint_of(url.encode()).words))
