"""The crawl itself: seeds come in from the store's claims, deltas go out to the store's checkpoints.

selector -> Seed ID Queue -> distributor -> collectors -> checkpointer, run by one `Machine`. Each folder is a room of
it, and imports between rooms go one way:

    machine                 the threads, the lease, the heartbeat
    collecting              URL Collectors: visits by a schedule, and what lands
    distribution            URL Selector, Seed ID Queue, URL Distributor
    asking                  what a site is asked for, and when
    answers | outage | durable  what comes of an answer | an outage of our own | on the way to the database
    party | records         a seed's site, lists and decisions | WARC files and rows in step
    traps | blame           what brings nothing new | who killed the process
    rules, seen, clock, progress, fault_log     what all rooms share

A heartbeat prolongs the machine's lease, without which no request starts, and brings orders. A collector visits a site
when its `schedule` says so; `visits` starts requests, each with its flight (`flights`), for what `parties` chooses. A
response goes through `landing`: `reading` archives it and finds its links, `answers` applies them to the party. What
has changed by then waits in the contexts of party and site until `handover`.

All that is in memory is guarded by one lock, the machine's *turn*: a thread holds it while it works and
lets go of it while it waits, so that twenty collectors cost little more than one.
"""
