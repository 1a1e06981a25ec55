"""The crawl itself: seeds come in from the store's claims, deltas go out to the store's checkpoints.

selector -> Seed ID Queue -> distributor -> collectors -> checkpointer, run by one `Machine`. Its heartbeat prolongs the
lease, without which no request starts, and brings orders; `takeup` goes on where a party was left, by this machine or a
dead one; `records` and `indexer` keep WARC files and page rows in step, `losses` and `verifying` find where they are
not.

A collector visits a site when its `schedule` says so; `visits` starts requests, each with its flight (`flights`), for
what `parties` chooses: `origins` (addresses, robots.txt), `health` (who pushes back, or is dead), `budget` and
`sharing` (requests at an IP address, on all machines) and `traps` (patterns that bring nothing new) have their say. A
response goes through `landing`: `reading` archives it and finds its links, `answers` applies them to the party,
`own_url` follows where the seed's own URL leads, `sitemaps` and `lister` list what sitemaps hold; `rejections` keeps
samples of what was refused. What has changed by then waits in the contexts of party and site until `handover`.

All that is in memory is guarded by one lock, the machine's *turn*: a thread holds it while it works and
lets go of it while it waits, so that twenty collectors cost little more than one.
"""
