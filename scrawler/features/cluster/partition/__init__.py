"""Who crawls which site: pure functions of the site's key and of the machines that live.

In goes a `Living`, as each heartbeat brings it, and for some kinds the table of slots that the database keeps; out
comes an `OwnerMap`, which names the owner of a site (`owner_map` in `maps`). The same input gives the same map on every
machine. A map only narrows what a machine claims: the lease stays the authority, so a stale map costs time and never a
page that is fetched twice.

`ring` is consistent hashing (paper 001, section 4.1), `slots` the two-level mapping (paper 000, section 3.2.3),
`identifiers` how a machine comes by the name that seeds its places on the ring, `capacity` what it is worth.
"""
