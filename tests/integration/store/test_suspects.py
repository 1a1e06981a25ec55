from __future__ import annotations

import signal
from pathlib import Path

from scrawler.core.blame.deaths import Deaths
from scrawler.core.blame.slots import reading_file
from scrawler.model.suspects import CONDEMNED, SUSPECTED, SuspectRow
from scrawler.model.terms import url_hash
from scrawler.store.claims.suspects import Suspects
from scrawler.store.engines.engine import open_database
from tests.forks import run_python
from tests.proxy import Proxy

URL, OTHER = "http://a.test/x", "http://a.test/y"
PREFIX = "crawl-1-m"


def _row(site: int, machine: int, url: str, blame: int, detail: str) -> SuspectRow:
    return SuspectRow(site, url_hash(url), machine, url, blame, detail)


def test_deaths_add_up_until_a_url_is_condemned_at_its_site(database_url: str) -> None:
    database = open_database(database_url)
    suspects = Suspects(database)
    certain, doubtful = "http://a.test/certain", "http://a.test/doubtful"
    suspects.note([])
    suspects.note([_row(1, 5, doubtful, SUSPECTED, "first"), _row(1, 5, certain, CONDEMNED, "a fault")])
    assert suspects.condemned(1) == {certain: "a fault"}
    suspects.note([_row(1, 6, doubtful, SUSPECTED, "second"), _row(2, 6, doubtful, SUSPECTED, "elsewhere")])
    assert suspects.condemned(1) == {certain: "a fault", doubtful: "first"}
    assert suspects.condemned(2) == {}
    database.close()


def test_a_death_that_is_noted_again_is_one(database_url: str) -> None:
    database = open_database(database_url)
    suspects = Suspects(database)
    for _ in range(3):
        suspects.note([_row(1, 5, URL, SUSPECTED, "killed by SIGBUS"), _row(1, 5, URL, SUSPECTED, "by two threads")])
    assert suspects.condemned(1) == {}
    suspects.note([_row(1, 5, URL, CONDEMNED, "its supervisor knew more")])
    assert suspects.condemned(1) == {URL: "its supervisor knew more"}
    database.close()


def test_a_death_whose_commit_was_not_acknowledged_is_one(proxied_url: str, proxy: Proxy) -> None:
    database = open_database(proxied_url)
    suspects = Suspects(database)
    cut = proxy.cut_after_commit()
    suspects.note([_row(1, 5, URL, SUSPECTED, "first")])
    assert cut.is_set()
    assert suspects.condemned(1) == {}
    database.close()


_KILLED_BEFORE_IT_REMOVES_THE_FILE = """
import os, signal, sys
from pathlib import Path
from scrawler.core.blame.deaths import Deaths
from scrawler.store.engines.engine import open_database
from scrawler.store.claims.suspects import Suspects

url, folder, prefix = sys.argv[1:]

class Cut(Suspects):
    def note(self, rows):
        super().note(rows)
        os.kill(os.getpid(), signal.SIGKILL)

Deaths(Path(folder), prefix, Cut(open_database(url)), print, print).look()
"""

_DIES_OF_ONE_OF_TWO = """
import os, signal, sys
from pathlib import Path
from scrawler.core.blame.slots import Slots

slots = Slots(Path(sys.argv[1]), 4, 100)
for url in sys.argv[2:]:
    slot = slots.take()
    slot.belongs_here()
    slot.enter(1, url)
os.write(slots.file, b"killed by SIGBUS")
os.kill(os.getpid(), signal.SIGKILL)
"""


def _killed(code: str, *arguments: str) -> None:
    assert run_python("-c", code, *arguments).returncode == -signal.SIGKILL


def test_whoever_dies_while_he_looks_into_a_death_makes_no_second_one_of_it(database_url: str, tmp_path: Path) -> None:
    database = open_database(database_url)
    suspects, said = Suspects(database), []
    _killed(_DIES_OF_ONE_OF_TWO, str(reading_file(tmp_path, PREFIX, 7)), URL, OTHER)
    for _ in range(2):
        _killed(_KILLED_BEFORE_IT_REMOVES_THE_FILE, database_url, str(tmp_path), PREFIX)
    Deaths(tmp_path, PREFIX, suspects, said.append, lambda url, fault: None).look()
    assert [line.partition(": ")[0] for line in said] == [URL, OTHER]
    assert not list(tmp_path.glob("*.reading*"))
    assert suspects.condemned(1) == {}
    _killed(_DIES_OF_ONE_OF_TWO, str(reading_file(tmp_path, PREFIX, 8)), URL)
    Deaths(tmp_path, PREFIX, suspects, said.append, lambda url, fault: None).look()
    assert list(suspects.condemned(1)) == [URL]
    database.close()
