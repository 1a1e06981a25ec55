"""Copies of an archive elsewhere (`archive_to`): while machines work, when they are over, and by `archive-copy`.

`copying.py` copies what is finished, beside a run or alone; `note.py` lets other commands of this host know how that
stands. To read copies is the crawler's own work (`scrawler.archive.remote`).
"""
