"""The documentation sites as a web for crawlers."""

from __future__ import annotations

import pytest

from experiments.competitors.webs import docsweb, docsweb_why_not
from experiments.docsweb.server import RUN_FOLDER


@pytest.mark.skipif(docsweb_why_not() is not None, reason="the documentation packages are not installed")
def test_a_failure_leaves_nothing_behind() -> None:
    before = set(RUN_FOLDER.glob("nginx-*"))

    def fail() -> None:
        with docsweb() as web:
            assert len(web.pids()) == 2
            assert set(RUN_FOLDER.glob("nginx-*")) > before
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert set(RUN_FOLDER.glob("nginx-*")) == before
