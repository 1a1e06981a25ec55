"""What a URL is to a crawl: pure decisions, no I/O, each with its reason.

In: text as people and pages write it (a line of a seed file, the hrefs of a page) and, for a party, its seed's
`ScopeRule`. Out: normalised absolute URLs, or the `Verdict` that says why not. `normalise` makes URLs, `steps` spells
them alike, `scope` says to whom they belong, `filetype` which are surely no documents, `traps` which are shaped like no
URL of a real page, `refusals` says so in words, and `analyzer` does all of it for the links of a page at a time, with a
cache for each party; `lookup`, compiled where that can be, finds what is in it. `patterns` folds URLs that differ only
in numbers and parameters into one.
"""
