"""What stands behind a site's own search: pages to which no link leads, found by asking for words of its pages.

`forms` recognises search forms in a page, and makes the URL that asks for a term. `probing` chooses the next term by
what has been found so far, and says when to stop, with the reason. `searches` is what a party knows of both, and what
its checkpoints keep (`rows`); `step` asks, and follows the answers: a query is a GET of the site, and counts as any
page. `log` reads the rows again, and `telling` makes of them what `scrawler why` and `scrawler report` say.
"""
