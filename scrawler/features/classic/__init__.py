"""The parts that the first form of this crawler had: requests, html5lib and pybloom, which `profile` chooses together.

`blocking.py` downloads a page at a time, on connections that `pinned.py` makes to the address that was looked up;
`reference.py` finds links by html5lib's tree, to which the other extractors are held; `seen.py` has layered filters.
"""
