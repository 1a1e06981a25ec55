"""Broken links: what failed, which pages lead there, and what the crawl itself did not look at.

`links.py` reads rows and records, `references.py` notes what pages name beside links, `circles.py` finds redirects
without an end, `checked.py` says whether the sites were gone through. `external.py` asks for what the crawl did not
follow, by a crawl of its own. `section.py` is what a report says of it.
"""
