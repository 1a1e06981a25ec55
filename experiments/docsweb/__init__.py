"""Real sites on this machine: seven documentation packages of Debian, each served by nginx at an address of its own.

`sites` says what they are, `server` serves them and counts requests in its access log, `walk` finds their pages
by other means than SCrawler does, `compare` tells both apart. `python -m experiments.docsweb` is the way in.
"""
