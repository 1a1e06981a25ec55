"""A deterministic synthetic web that knows its own truth, for the demo, tests and experiments.

In: a `WebSpec` (a few numbers). Out: the same sites, pages and links every time, computed from (seed number, site,
page) and never stored, so that a site of a million pages costs nothing to hold.

`spec` describes a web -> `web` lays it out (URLs, links, answers) -> `pages` writes the bytes -> `server` speaks HTTP;
`truth` walks the same layout and says what a crawler must find; `process` runs a server apart, for tests.
Two small webs beside it are always the same: `traps` leads into endless spaces, `faults` misbehaves.
"""
