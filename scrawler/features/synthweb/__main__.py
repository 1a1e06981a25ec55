"""`python -m scrawler.features.synthweb`: serve a synthetic web."""

from __future__ import annotations

import sys

from scrawler.errors import ScrawlerError
from scrawler.references import load_for_good

if __name__ == "__main__":
    try:
        load_for_good("scrawler.features.synthweb.command:synthweb")()
    except ScrawlerError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
