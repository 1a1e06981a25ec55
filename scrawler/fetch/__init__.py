"""Fetching: a Request with its address goes in, a Response comes out; whatever the web does is a value.

Data enters as `Request` (`downloader.py`) and leaves as `Response`, through `CurlDownloader` (many downloads at a
time, each a `Transfer`) or what a feature has in its place. The address in a Request
comes from `Resolver`, which asks `guard` whether it may be connected to; `robots` says whether a URL may be asked for,
`politeness` when, `cookies` what its site wants back. `wire.py` is the HTTP/1.1 text that downloaders share,
`poller.py` how a downloader waits, `descriptors.py` how many sockets it may have.
Nothing here knows of parties, databases or files.
"""
