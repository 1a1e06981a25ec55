"""How much of a page a tree is built of, for people."""

from __future__ import annotations

from scrawler.extract.beginning import beginning


def test_a_page_ends_at_so_many_bytes_or_before_one_tag_too_many() -> None:
    page = b"<p>one<p>two<p>three"
    assert beginning(page) is page
    assert beginning(page, most_bytes=6) == b"<p>one"
    assert beginning(page, most_tags=3) == page
    assert beginning(page, most_tags=2) == b"<p>one<p>two"
    assert beginning(page, most_bytes=8, most_tags=1) == b"<p>one"
