"""What is made of the pages of a crawl: a corpus of texts, a WACZ package, ranks of URLs by links, Markdown.

All of it reads rows of pages and their records through the crawler's `insight.contents`, and writes one file:
`corpus.py` finds main texts, `packing.py` and `wacz.py` pack the archive, `in_degree.py` counts links that
`outlinks` kept, `markdown.py` is what `cat --markdown` shows. `library.py` has the methods of `Crawl`.
"""
