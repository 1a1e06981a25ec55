"""What tests of pages in a browser share with those of crawls: fixtures."""

from __future__ import annotations

from tests.integration.crawl.conftest import crawl, serve  # noqa: F401
