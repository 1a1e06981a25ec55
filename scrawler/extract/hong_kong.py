"""Characters of Hong Kong's Big5 that browsers read, and that no codec of Python's reads at these places."""

from __future__ import annotations

from collections.abc import Iterator

_FIRST_LEAD, _TRAILS = 0x81, 157  # the Encoding Standard's numbers of places (index big5)
_LOW, _LOW_END, _HIGH = 0x40, 0x7F, 0x62

# Where some characters in a row begin, in hexadecimal, and these.
_PLACES = """
877a㡵𡵓𣚞𦀡㻬𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆㓦珄
87c0𥶹瓆鿇垳䤯呌䄱𣚎堘穲𧭥讏䚮𦺈䆁𥶙箮𢒼鿈𢓁𢓉𢓌鿉蔄𣖻䂴鿊䓡𪷿拁灮鿋 8e69箸 8e6f簆 8e7e糎 8eab緒 8eb4縝 8ecd者
8ed0耨 8f57菁 8f69蒨 8f6e萏 8fcb覦覩 8ffe起 906d都 907a銹 90dc靜 90f1響 91bf鼖 9244蔃 92af兙兛兝兞 92c8鍮
92d1瑹 9447浧 94ca禛 95d9邗 9644靝 96ed瀞 96fc嬨 9b76爁 9b78矗 9b7b纇 9bc6駖 9bde釔 9bec惞 9bf6澶 9c42輶
9c53侻 9c62營 9c68鄄 9c6b鷰 9c77菏 9cbc尐秣 9cd0婧 9d57輋 9d5a筑 9dc4拐 9ea9恢 9eef痹 9efd汊 9f60鬮 9f66鼗
9fcb僭 9fd8弌 a063蠏 a077拎 a0d5瑨 a0df煢 a0e4牐 a241∕﹨ c6de〃 fa5f倩 fa66偽 fabd包 fac5卄 fad5卿 fbb8婷
fbf3幵 fc4f彘 fcb9撐 fce2晴 fcf1杞 fdb7沜渝 fdbb港 fdf1煮 fe6f瑜 feaa瓩 fedd砉
"""


def hong_kong() -> Iterator[tuple[bytes, str]]:
    """Yield the two bytes of each of these characters, and the character."""
    for run in _PLACES.split():
        lead, trail = bytes.fromhex(run[:4])
        offset = _LOW if trail < _LOW_END else _HIGH
        first = (lead - _FIRST_LEAD) * _TRAILS + trail - offset
        for pointer, character in enumerate(run[4:], first):
            yield _place(pointer), character


def _place(pointer: int) -> bytes:
    row, cell = divmod(pointer, _TRAILS)
    offset = _LOW if cell < _LOW_END - _LOW else _HIGH
    return bytes((row + _FIRST_LEAD, cell + offset))
