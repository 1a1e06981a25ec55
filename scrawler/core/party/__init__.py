"""One party: the pages that are locally reachable from a seed, inside its site.

`context` and `site` hold its state, `takeup` makes them from what the database holds, `parties` begins and ends them.
`depth` is its list of URLs, in lanes of `entries`; `decisions` says what comes of an answer, `health` how the site
bears up, `own_url` follows where the seed's own URL leads, `sitemaps` says what stands before its pages.
"""
