"""What keeps those off who ask too much of a server of ours: of `scrawler listen`, and of `scrawler serve-site`.

`rate.py` counts requests, and says when a client may ask again; `connections.py` makes uvicorn's connections, of which
each client has a bounded number, and gives up those that bring no request, or do not read what they asked for.
"""
