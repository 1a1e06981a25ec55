"""Insight into a crawl, for people and programs: why a URL was or was not fetched, and what came of seeds.

A URL or a seed in; findings out, as frozen data that a command prints and a page can show. All of it is read from
the database, and what servers answered from the archive: no machine needs to run, none is disturbed.
"""
