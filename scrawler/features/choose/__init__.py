"""Which seeds next: chosen by what they have brought, skipped, removed, promoted, and taken back.

`scores.py` reads what scores are made of, `choosing.py` takes the best, `picking.py` changes the rows of seeds at
whose sites no machine is at work; `library.py` has the methods of `Crawl`. What a skipped seed means for machines, the
crawler itself knows (`seed.skipped`).
"""
