"""A WACZ file that is given up: nothing of it is written once its file is closed."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Iterator

import pytest

from scrawler.errors import UnreadableError
from scrawler.features.texts.wacz import WaczWriter


def test_a_file_that_is_given_up_says_nothing_later(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)

    def chunks() -> Iterator[bytes]:
        yield b"some"
        raise UnreadableError("cannot read it")

    def write(raw: io.BytesIO) -> None:
        with WaczWriter(raw) as out:
            out.add("archive/one", chunks(), 100)

    raw = io.BytesIO()
    with pytest.raises(UnreadableError):
        write(raw)
    raw.close()
    gc.collect()
    assert said == []
