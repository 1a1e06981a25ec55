"""A deterministic synthetic web that knows its own truth, for the demo, tests and experiments.

In: a `WebSpec` (a few numbers). Out: the same sites, pages and links every time, computed from (seed number, site,
page) and never stored, so that a site of a million pages costs nothing to hold.

`spec` describes a web -> `web` lays it out (URLs, links, answers) -> `pages` writes the bytes -> `server` answers;
`truth` walks the same layout and says what a crawler must find; `process` runs a server apart, for tests. `changes`
says when pages change, come and go, in a time of the web's own, and `validators` what answers say of that. `faults` and
`traps` are webs of their own, of what goes wrong and of what has no end; all are served by `serving`, over `http`.
"""
