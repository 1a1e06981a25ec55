"""Which URLs lead, by their extension, surely to no document in which links could be found.

PDF and office documents, feeds, XML, JSON and plain text are documents to an archive and are not refused.
`.com` is left out of the executables: `/whois/example.com` is a page.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

_IMAGES = "apng avif bmp cur eps gif heic heif ico jfif jp2 jpe jpeg jpg jxl png psd svg svgz tif tiff webp xcf"
_AUDIO = "aac aif aiff amr au flac m4a m4b mid midi mka mp2 mp3 oga ogg opus ra wav weba wma"
_VIDEO = "3g2 3gp asf avi divx f4v flv m2ts m4v mkv mov mp4 mpe mpeg mpg ogv qt rm rmvb swf vob webm wmv"
_ARCHIVES = "7z ar br bz2 cab cpio gz img iso lz lz4 lzh lzma rar rpm sit sitx tar tbz tbz2 tgz txz xz z zip zst"
_PROGRAMS = "apk appimage bin class deb dll dmg ear exe jar msi msix o pkg pyc rom so war whl xpi"
_FONTS = "eot otf pfb ttc ttf woff woff2"
_PAGE_PARTS = "css js less map mjs scss wasm"

NOT_DOCUMENTS = frozenset(
    " ".join((_IMAGES, _AUDIO, _VIDEO, _ARCHIVES, _PROGRAMS, _FONTS, _PAGE_PARTS)).split(),
)
_MAIN_TYPES = {  # main type -> extensions of files that may be of it
    "image": _IMAGES,
    "audio": _AUDIO,
    "video": _VIDEO,
    "font": _FONTS,
    "application": f"{_ARCHIVES} {_PROGRAMS} js mjs wasm",
    "text": "css js mjs",
}
_NAMES = {"gz": "gzip", "tgz": "gzip", "js": "javascript", "mjs": "javascript"}  # extension -> word of a media type
_WORD = re.compile(r"[0-9a-z]+")


@lru_cache(maxsize=64)
def refused_types(accept: tuple[str, ...]) -> Set[str]:
    """Return the extensions that are refused where these media ranges are wanted; with none, all that lead nowhere.

    Who wants images, audio, video or fonts gets what is named so: which of them, the headers tell. Of the rest, only
    what the type itself names is wanted (`application/zip`), or all (`application/*`). The set, of 8 KB, is made once:
    each site asks for it.
    """
    if "*/*" in accept:
        return frozenset()
    mains = {one.partition("/")[0] for one in accept if one.endswith("/*")}
    mains |= {one.partition("/")[0] for one in accept}.difference(("application", "text"))
    wanted = {extension for main in mains for extension in _MAIN_TYPES.get(main, "").split()}
    words = {word for one in accept for word in _WORD.findall(one.partition("/")[2])}
    return frozenset(one for one in NOT_DOCUMENTS if one not in wanted and _NAMES.get(one, one) not in words)


def is_refused_type(url: str, refused: Set[str] = NOT_DOCUMENTS) -> bool:
    """Whether the extension of a normalised URL's path is in `refused` (lower case, without dot).

    A last segment with a colon is never refused: a wiki's `File:Map.png` is a page about a picture.
    """
    path = url[: url.index("?")] if "?" in url else url
    if path.rpartition(".")[2].lower() not in refused:  # what holds a slash is no extension, and in no such set
        return False
    segment = path.rpartition("/")[2].lower()
    return ":" not in segment and "%3a" not in segment
