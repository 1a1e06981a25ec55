"""The fault web: one path a misbehaviour, for trying out crawlers on the worst of the web.

`answers` and `documents` are faults of single pages, all on one site whose home page links to each; `sites` are faults
that concern a whole site, each on an address of its own. `server` serves both on loopback. What a crawler should make
of each of them stands in `tests/integration/crawl/test_fault_web.py`.
"""
