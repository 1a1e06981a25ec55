"""Seeds in and URLs out.

In: a seed file goes through `files` (find, open, unpack), `formats` (txt, CSV or JSONL to entries) and `importer`
(normalise, judge, count, hand over in batches) to the store. Out: `exporter` writes seeds, candidate seeds and
pages to a file that is a seed file again. `promoter` turns candidate seeds into seeds without leaving the database.
"""
