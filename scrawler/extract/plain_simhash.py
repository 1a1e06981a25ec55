"""What a page says, in Python: word for word what `_simhash.c` does where that was built.

Words are runs of letters and digits, in lower case; what is not ASCII counts as letters. A character reference is a
part of its word as it is written, unless it stands for ASCII or a no-break space, which separate words. Comments,
scripts and styles say nothing; the title does. Images count as words: by their addresses, without the query.

Each word becomes a hash of 64 bits, whose lowest bit says whether it holds a digit. A page's distinct words are these
hashes, eight bytes each, in the order of their coming; so is what a vocabulary does not know. A vocabulary is a set of
hashes, of which it knows nearly all: a Bloom filter, its size that of the array.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator

from scrawler.extract.markup import ATTRIBUTE, tag_end

MOST_WORDS = 30_000  # words of a page that are read
MOST_IMAGES = 200  # images of a page that are read
SHORTEST_RUN = 25  # bytes of text between two tags that are a part of the skeleton
LONGEST_REFERENCE = 31  # characters between "&" or "&#", and ";"
SAMPLED_EVERY = 256  # longer texts are sampled every so many bytes
PROBES = 4  # bits of a vocabulary that stand for a word
_LONGEST_KEPT = 64  # bytes of a word whose hash is remembered
_WORDS_KEPT = 32_768  # words whose hashes are remembered, at about 500 bytes each

_BITS = 64
_ALL = (1 << _BITS) - 1
_HALF = (1 << 32) - 1
_STEP = 0x9E3779B97F4A7C15
_FIRST_MIX, _SECOND_MIX = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# All 64 counters are lanes of 16 bits in one long integer, so that adding a word is one addition.
_LANE = 16
_ONES = sum(1 << _LANE * bit for bit in range(_BITS))
_MOST_OF_LANE = (1 << (_LANE - 1)) - 1
_SPREAD = [sum((byte >> bit & 1) << _LANE * bit for bit in range(8)) for byte in range(256)]
_DIGITS = bytes(ord("1") if byte & 0x80 else ord("0") for byte in range(256))
_LETTERS = bytes(byte if byte & 0xC0 else 0 for byte in range(256))
_IN_WORDS = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256)).lower()
_REFERENCE = re.compile(
    rb"&(?:[0-9A-Za-z]{1,%d}|#[0-9]{1,%d}|#[xX][0-9a-fA-F]{1,%d});"
    % (LONGEST_REFERENCE, LONGEST_REFERENCE, LONGEST_REFERENCE - 1)
)
_SEPARATES = re.compile(
    rb"&(?:amp|lt|gt|quot|apos|nbsp"
    rb"|#0*(?:160|1[01][0-9]|12[0-7]|[0-9]{1,2})|#[xX]0*(?:[aA]0|[0-7]?[0-9a-fA-F]));"
)
# What stands around a reference in a word is marked by bytes that are taken out of the text before.
_MARKED, _MARKS = b"&#;", b"\1\2\3"
_UNMARK = bytes.maketrans(_MARKS, b"   ")
_MARK = bytes.maketrans(_MARKED, _MARKS)
_AS_WRITTEN = bytes.maketrans(_MARKS, _MARKED)
_IN_MARKED_WORDS = bytes(byte if byte in _MARKS else word for byte, word in enumerate(_IN_WORDS))
_DIGIT = re.compile(rb"[0-9]")
_NAME = re.compile(rb"[^\s/>]*")
_ATTRIBUTE = re.compile(ATTRIBUTE.encode())
_RAW_END = {name: re.compile(rb"</%s(?=[\s/>])" % name, re.IGNORECASE) for name in (b"script", b"style")}


def fingerprint(page: bytes, is_xml: bool) -> tuple[int, int, bytes]:
    """Return a page's simhash, signed, a digest of its distinct words whatever their order, and these words.

    The page is in UTF-8, or nearly so. The simhash is 0 if there are no words; `is_xml`: scripts can close themselves.
    """
    words = array("Q", dict.fromkeys(_hashes(page, is_xml)))
    return _simhash(words), sum(words) & _ALL, words.tobytes()


def skeleton(page: bytes) -> int:
    """Return a digest of the texts between a page's tags, whatever their order; short ones do not count.

    It is made of how long each of them is, and of eight bytes in its middle, and SAMPLED_EVERY bytes before and behind
    these, and so on; of a text so short that this is one position alone, only letters count. What stands in scripts is
    text here, and quotes do not hide a ">": all that matters is that copies are read alike.
    """
    first, *others = page.split(b"<")
    texts = [first, *(other.partition(b">")[2] for other in others)]
    return sum(_run_hash(text) for text in texts if len(text) >= SHORTEST_RUN) & _ALL


def _run_hash(text: bytes) -> int:
    begin = len(text) // 2 % SAMPLED_EVERY
    sampled = b"".join(text[position : position + 8] for position in range(begin, len(text) - 7, SAMPLED_EVERY))
    if len(text) < 2 * SAMPLED_EVERY:
        sampled = sampled.translate(_LETTERS)
    return _mixed(_folded(sampled, len(text)))


def unknown(words: bytes, vocabulary: bytes | bytearray, most: int) -> bytes:
    """Return the words that are not in a vocabulary, the first ones of them if there are more than `most`."""
    found = array("Q")
    for word in array("Q", words):
        if len(found) >= most:
            break
        if not all(vocabulary[at >> 3] >> (at & 7) & 1 for at in _places(word, len(vocabulary))):
            found.append(word)
    return found.tobytes()


def learn(words: bytes, vocabulary: bytearray) -> int:
    """Add words to a vocabulary; return how many of them it did not know."""
    learned = 0
    for word in array("Q", words):
        is_new = False
        for at in _places(word, len(vocabulary)):
            is_new = is_new or not vocabulary[at >> 3] >> (at & 7) & 1
            vocabulary[at >> 3] |= 1 << (at & 7)
        learned += is_new
    return learned


def _simhash(words: array[int]) -> int:
    sums = sum(map(_lanes.__getitem__, words))
    # A lane that counts more than half of the words carries over into its top bit.
    tops = sums + _ONES * (_MOST_OF_LANE - len(words) // 2) & _ONES << (_LANE - 1)
    unsigned = int(tops.to_bytes(_BITS * _LANE // 8, "big")[::2].translate(_DIGITS), 2)
    signed = unsigned - (unsigned >> (_BITS - 1) << _BITS)
    return signed or int(bool(words))


def _places(word: int, size: int) -> Iterator[int]:
    """Return the bits of a vocabulary of so many bytes that stand for a word."""
    begin, step = word & _HALF, word >> 32 | 1
    return ((begin + number * step & _HALF) * 8 * size >> 32 for number in range(PROBES))


def _hashes(page: bytes, is_xml: bool) -> Iterator[int]:
    """Return the hashes of words and images as they come; words end after MOST_WORDS of them, with all that follows."""
    words = images = 0
    for kind, source in _texts(page, is_xml):
        if kind == "text":
            for word in _words(source):
                yield _word_hashes[word]
                words += 1
                if words == MOST_WORDS:
                    return
        elif images < MOST_IMAGES and (address := _address(source)):
            images += 1
            yield image_hash(address)


def _texts(page: bytes, is_xml: bool) -> Iterator[tuple[str, bytes]]:
    """Return the texts between tags, and the attributes of images."""
    position, end = 0, len(page)
    while position < end:
        bracket = page.find(b"<", position)
        yield "text", page[position : end if bracket < 0 else bracket]
        if bracket < 0:
            return
        position = bracket + 1
        is_end = page.startswith(b"/", position)
        if page[position + is_end : position + is_end + 1].isalpha():
            match = _NAME.match(page, position + is_end)
            assert match is not None  # the pattern matches an empty text as well
            name = match[0].lower()
            position = tag_end(page, match.end())
            if position == end:
                return
            if name == b"img" and not is_end:
                yield "image", page[match.end() : position]
            closes_itself = is_xml and page.startswith(b"/", position - 1)
            position += 1
            if name in _RAW_END and not is_end and not closes_itself:
                found = _RAW_END[name].search(page, position)
                position = found.start() if found else end
        else:
            position = _after_declaration(page, position, is_xml)


def _after_declaration(page: bytes, position: int, is_xml: bool) -> int:
    """Return the position after what begins behind a "<" and is no tag."""
    if is_xml and page.startswith(b"![CDATA[", position):
        return position + 8  # what it holds is text, and its end separates words
    if page.startswith(b"!--", position):
        end = page.find(b"-->", position + 1)
        return len(page) if end < 0 else end + 3
    if page.startswith((b"!", b"?", b"/"), position):
        end = page.find(b">", position)
        return len(page) if end < 0 else end + 1
    return position


def _words(text: bytes) -> list[bytes]:
    if b"&" not in text:
        return text.translate(_IN_WORDS).split()
    marked = _REFERENCE.sub(_marked, text.translate(_UNMARK))
    return [word.translate(_AS_WRITTEN) for word in marked.translate(_IN_MARKED_WORDS).split()]


def _marked(reference: re.Match[bytes]) -> bytes:
    return b" " if _SEPARATES.fullmatch(reference[0]) else reference[0].translate(_MARK)


def _address(source: bytes) -> bytes:
    """Return the address that an image is known by; empty: none."""
    for match in _ATTRIBUTE.finditer(source):
        if match["name"].lower() == b"src":
            value = match["double"] or match["single"] or match["bare"] or b""
            address = value.lstrip().partition(b"?")[0].rstrip()
            return b"" if address[:5].lower() == b"data:" else address
    return b""


def image_hash(address: bytes) -> int:
    """Return the hash of an image's address."""
    return _mixed(_folded(address, _ALL ^ len(address))) & ~1 or 2


def _folded(source: bytes, begin: int) -> int:
    """Return a hash of bytes that is not yet mixed."""
    folded = begin
    for position in range(0, len(source), 8):
        folded = (folded ^ int.from_bytes(source[position : position + 8], "little")) * _STEP & _ALL
        folded ^= folded >> 32
    return folded


def _mixed(number: int) -> int:
    """Return 64 bits each of which depends on all of a number's (Stafford's variant 13 of MurmurHash3's last step)."""
    number = (number ^ number >> 30) * _FIRST_MIX & _ALL
    number = (number ^ number >> 27) * _SECOND_MIX & _ALL
    return number ^ number >> 31


class _WordHashes(dict[bytes, int]):
    """Word -> its hash; most words of a site stand on many of its pages."""

    def __missing__(self, word: bytes) -> int:
        has_digit = _DIGIT.search(_REFERENCE.sub(b"", word) if b"&" in word else word) is not None
        found = (_mixed(_folded(word, len(word))) & ~1 | has_digit) or 2
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _WORDS_KEPT:
                self.clear()
            self[word] = found
        return found


class _Lanes(dict[int, int]):
    """Hash of a word -> its 64 bits, each in the lowest bit of a lane."""

    def __missing__(self, word: int) -> int:
        octets = enumerate(word.to_bytes(_BITS // 8, "little"))
        lanes = sum(_SPREAD[octet] << 8 * _LANE * position for position, octet in octets)
        if len(self) >= _WORDS_KEPT:
            self.clear()
        self[word] = lanes
        return lanes


_word_hashes = _WordHashes()
_lanes = _Lanes()
