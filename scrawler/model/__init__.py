"""Data that travels between stages, a module for each way that it takes.

scope               what the crawl calls internal      from the user to everybody
machines            states, commands, orders           from the user through the store to the machines
claims, seeds       sites with their seeds             from the store to a machine
results             what came of a URL                 from fetch and answers to the rows
rows, lanes, robots what a party found, and its lists  from a machine to the store, in a delta; lanes and robots back
deltas              all that changed                   from a machine to the store
records             records, and those lost            from the archive to its index and the store
suspects            URLs in hand at a death            from a machine to the store, and to all others
servers             times reserved at a server         from the store to a machine
errands             what is wanted of others' hosts    from a machine through the store to another one
sizes               what a site cost before            from the store to the plan
terms               times and hashes                   what all of them are written in

Times are UTC integer milliseconds. URLs are normalised absolute strings. A *position* counts a
party's entries from 0 in the order in which they were listed.
"""
