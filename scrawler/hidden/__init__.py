"""What stands behind a site's own search: pages to which no link leads, found by asking for words of its pages.

`forms` recognises search forms in a page, and makes the URL that asks for a term. `probing` chooses the next term by
what has been found so far, and says when to stop, with the reason. Both are pure: who fetches, and how politely, is for
others to decide; a query is a GET of the site, and counts as any page.
"""
