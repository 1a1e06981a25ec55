"""The library: a crawl as Python sees it. The command line stands on it, and other faces of the same crawl can.

`OpenedCrawl` (`opened.py`) answers for a crawl, `Crawl` (`crawl.py`) runs it by `running.py`, and tells of it by
`observing.py`; `companions.py` has what features do beside it; `stream.py` has the function that crawls while its
caller reads. `Page` (`page.py`) reads its record when it is asked (`answers.py`), `Seed` is a row.
Nothing global is changed: no signal handler, limit, garbage collector, or folder is touched.
"""
