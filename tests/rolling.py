"""Lets a WARC file be full before its time."""

from __future__ import annotations

from scrawler.archive.warc import WarcWriter


def roll(writer: WarcWriter) -> None:
    """Close the current file, if any, as the writer does when the next record has no room in it."""
    with writer._lock:
        writer._close_file()
