"""SCrawler: a seed-by-seed web crawler with a database behind it.

A URL's way through the tree: seeds.importer -> store -> crawl.selector -> crawl.distributor ->
crawl.collector -> fetch -> archive -> extract -> urls.analyzer -> crawl.context (internal) or
store (external, as a candidate seed) -> seeds.exporter.
"""

__version__ = "0.1.0"
