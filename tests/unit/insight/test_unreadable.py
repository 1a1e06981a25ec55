"""What may not be read is there: it is not told to be gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrawler.errors import UnreadableError
from scrawler.insight.contents import _readable


def test_a_file_that_may_not_be_read_is_not_gone() -> None:
    with pytest.raises(UnreadableError, match=r"cannot read pages/a\.warc\.gz: Permission denied"):  # noqa: SIM117
        with _readable(Path("pages/a.warc.gz")):
            raise PermissionError(13, "Permission denied")
    with pytest.raises(FileNotFoundError), _readable(Path("pages/a.warc.gz")):
        raise FileNotFoundError(2, "No such file or directory")
