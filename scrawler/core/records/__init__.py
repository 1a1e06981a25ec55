"""WARC files and page rows in step: `records` mends and indexes, `losses` and `verifying` find where they are not."""
