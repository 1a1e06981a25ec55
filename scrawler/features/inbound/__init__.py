"""What keeps those off who ask too much of a server of ours: of `scrawler listen`, and of `scrawler serve-site`.

`rate.py` counts requests, and says when a client may ask again; `sockets.py` listens, and gives each client a bounded
number of connections; `connections.py` makes those of uvicorn, and gives up those that bring no request, or do not read
what they asked for.
"""
