"""A web of unknown domains on loopback: most are dead, parked or moved, and few are real.

`kinds.py` says which domain is of which kind, and where it is; `server.py` serves those that answer.
"""
