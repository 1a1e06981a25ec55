"""Rows for people, commands and the library: pages, candidates, traces of one URL, what happens now."""
