"""Figures of a crawl for Prometheus, and whether its machines live, while a run goes on: `--metrics`.

`figures.py` reads them from the database, `inside.py` tells what only the machines of this command know; `server.py`
serves both; `companion.py` lets it work beside a run.
"""
