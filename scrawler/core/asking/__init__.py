"""What is asked of a site, and when.

`visits` starts requests, as far as the `checks` of a URL say go. What it asks is made ready by `origins` (addresses,
robots.txt), and may be held back by `budget` and `sharing` (requests at an IP address, on this machine and on all of
them) and by `patience` (slow pages). What is asked of a host on behalf of other sites waits for its turn there
(`errands`), which machines give each other (`elsewhere`).
"""
