"""The crawlers that are compared with SCrawler, one file each, all behind the interface of `peer.py`.

`roster.py` lists them. `programs/` holds what runs inside the environments of those that are written in Python, which
are made in `.venv/` on first use: their packages stay out of SCrawler's own. `webs.py` gives them webs to crawl, with
the server's access log.
"""
