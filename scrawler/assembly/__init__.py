"""Builds a machine: the one place where parts, store, archive and threads are put together.

`machine` makes all of it, with `stores`, `sites` (what takes them up), `collectors` and `archives`; `parts` are what
settings name, and `urls` judges links as the crawl does for whoever wants to know.
"""
