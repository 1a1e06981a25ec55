"""The archive: exchanges with the web become WARC/1.1 files, and rows about them a CDXJ index.

`archive.Archive` is the interface, `warc.WarcWriter` our part.

In: `write` takes one `record.Exchange` (plain bytes and text, from any thread).
Out: a `record.RecordRef` (file, offset, length), which a page row keeps; files in one folder, which
any WARC tool reads. `repair` mends the files that a machine left, under the lock of their prefix (`locks`), `proof`
tells what a file holds, `cdxj.write_cdxj` makes the index of a closed file from its rows, keyed by `surt.surt`.
"""
