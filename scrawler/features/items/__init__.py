"""Items of pages: code of users is called for each page that is committed, and what it makes goes to a file or a table.

`processing.py` calls processors beside the machines of a run, batch by batch, and `processors.py` keeps how far they
have come; `files.py`, `parquet.py` and `table.py` write items, each once. `library.py` has the methods of `Crawl`,
`run.py` what a run of the command line does for it.
"""
