"""What tests of items share with those of the library, and of the store: fixtures."""

from __future__ import annotations

from tests.e2e.conftest import scrawl  # noqa: F401
from tests.integration.api.conftest import crawled  # noqa: F401
from tests.integration.store.conftest import database  # noqa: F401
