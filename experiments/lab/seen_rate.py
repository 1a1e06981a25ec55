"""SCrawler with another error rate of its seen filter: seen_rate.py RATE COMMAND ... (like `scrawler COMMAND`)."""

from __future__ import annotations

import sys
from functools import partial

from rbloom import Bloom

from scrawler.cli import main
from scrawler.core import seen

if __name__ == "__main__":
    rate = float(sys.argv.pop(1))
    seen.rbloom_seen = partial(seen.LayeredSeen, make_layer=Bloom, error_rate=rate)
    main()
