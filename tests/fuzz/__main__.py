"""`make fuzz`: crawls of answers damaged at random, until one goes wrong; SEED=... repeats them."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import randrange

from tests.fuzz.trial import WAYS, Trial
from tests.fuzz.web import FuzzWeb


def main() -> int:
    """Run one round on each way, or one case alone; returns an exit code."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=randrange(1_000_000), help="random seed")
    parser.add_argument("--count", type=int, default=24_000, help="damaged answers, those of all ways together")
    parser.add_argument("--way", choices=WAYS, action="append", help="which parts read them; default: all")
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--show", action="store_true", help="print the answer of the case, and crawl nothing")
    chosen = parser.parse_args()
    if chosen.show:
        web = FuzzWeb.of(chosen.seed, chosen.case + 1)
        print(web.case_reply(web.sites[-1].role, chosen.case))
        return 0
    failed = [way for way in chosen.way or WAYS if not _round(chosen, way)]
    return 1 if failed else 0


def _round(chosen: argparse.Namespace, way: str) -> bool:
    """Crawl one way; its folder is kept if anything goes wrong."""
    share, flags = WAYS[way]
    web = FuzzWeb.of(chosen.seed, int(chosen.count * share))
    if chosen.case is not None:
        web = FuzzWeb.of(chosen.seed, chosen.case + 1).only(chosen.case)
    folder = Path(tempfile.mkdtemp(prefix="scrawler-fuzz-"))
    print(f"SEED={chosen.seed}, {way}: {web.cases:,} cases at {len(web.sites):,} sites", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        told = Trial(web, flags).run(folder)
    except AssertionError as error:
        again = f"make fuzz SEED={chosen.seed} FUZZ_ARGS='--way \"{way}\" --case N'"
        print(f"SEED={chosen.seed}, {way} FAILED; one case alone: {again}\n{error}", file=sys.stderr)
        return False
    print(f"  {told} in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    return True


if __name__ == "__main__":
    sys.exit(main())
