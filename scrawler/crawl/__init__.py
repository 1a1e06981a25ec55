"""The crawl itself: seeds come in from the store's claims, deltas go out to the store's checkpoints.

selector -> Seed ID Queue -> distributor -> collectors -> checkpointer, built and run by one `Machine`.
All that is in memory is guarded by one lock, the machine's *turn*: a thread holds it while it works and
lets go of it while it waits, so that twenty collectors cost little more than one.
"""
