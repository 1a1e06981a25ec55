"""Which extensions lead nowhere, as a rule and where only some media types are wanted."""

from __future__ import annotations

from scrawler.urls.filetype import NOT_DOCUMENTS, refused_types
from tests.tables import each

SOME = {"png", "jpg", "mp4", "mp3", "woff2", "zip", "7z", "gz", "exe", "css", "js"}


@each(
    ("accept", "not_refused"),
    [
        ((), set()),
        (("text/html", "application/pdf"), set()),
        (("text/html", "image/png"), {"png", "jpg"}),
        (("video/*", "audio/mpeg"), {"mp4", "mp3"}),
        (("application/zip",), {"zip"}),
        (("application/x-7z-compressed", "application/gzip"), {"7z", "gz"}),
        (("text/javascript",), {"js"}),
        (("text/*",), {"css", "js"}),
        (("application/*",), {"zip", "7z", "gz", "exe", "js"}),
        (("*/*",), SOME),
    ],
)
def test_what_is_accepted_is_not_refused(accept: tuple[str, ...], not_refused: set[str]) -> None:
    assert SOME - refused_types(accept) == not_refused
    assert refused_types(accept) <= NOT_DOCUMENTS


def test_the_sites_of_a_crawl_share_one_set() -> None:
    assert refused_types(("text/html", "image/*")) is refused_types(("text/html", "image/*"))
