"""SCrawler's command, with a recorder in its process: python experiments/lab/recorded.py FILE run ...

The recorder is a thread that writes down, ten times a second, what each crawling thread holds and has in flight. It
finds the threads by their class and reads what they show to everybody; it takes no lock and nothing of the crawler is
changed for it. A seed that is moved just then may be missed or counted twice, for one sample.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from scrawler.cli.main import main
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.distribution.distributor import UrlDistributor
from scrawler.threads import WorkerThread

_EVERY = 0.1  # seconds


def _record(file: Path, halt: threading.Event) -> None:
    """Append lines `TIME MOVES HELD/IN_FLIGHT ...`, one place a thread, until `halt` is set."""
    with file.open("a", buffering=1) as out:  # line by line: a crawl that is killed has its recording as well
        while not halt.wait(_EVERY):
            threads = threading.enumerate()
            workers = [one.worker for one in threads if isinstance(one, WorkerThread)]
            collectors = sorted((one for one in workers if isinstance(one, UrlCollector)), key=lambda one: one.number)
            moves = sum(one.moves for one in threads if isinstance(one, UrlDistributor))
            if collectors:
                out.write(f"{time.time():.3f} {moves} {' '.join(map(_counts, collectors))}\n")


def _counts(collector: UrlCollector) -> str:
    sites = list(collector.sites.values())  # a copy: the dictionary may change meanwhile
    return f"{sum(site.count for site in sites)}/{sum(site.in_flight for site in sites)}"


if __name__ == "__main__":
    stop = threading.Event()
    recorder = threading.Thread(target=_record, args=(Path(sys.argv.pop(1)), stop), name="recorder")
    recorder.start()
    try:
        main()
    finally:
        stop.set()
        recorder.join()
