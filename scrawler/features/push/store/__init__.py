"""What `scrawler listen` keeps in the crawl's database: URLs that were sent, keys, owners of sites, subscriptions.

Machines take the URLs from there into the inboxes of sites: `scrawler.features.revisit.store.pushed`.
"""
