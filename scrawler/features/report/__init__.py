"""The report on a crawl, or on one seed of it: as text, as JSON, as a page of HTML with plots.

`report.py` puts sections together, of sums that the database makes (`summing.py`, `over_time.py`); features add
theirs at the place "report" (`scrawler.insight.reporting`). `html.py` and `plots.py` show any such report.
"""
