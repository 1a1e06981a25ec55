"""Keeps the links of each page beside its answer in the archive, in the words of Heritrix.

`step` reads them, `settings` turns it on. Whoever writes a feature of pages may begin with a copy of this room: it is
the smallest one.
"""
