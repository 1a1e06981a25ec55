"""What the crawler can do beside crawling: a room for each feature. The crawler imports nothing of them.

Each room has a module `declaration`, which says in a few names what the feature brings: commands, settings, parts.
`scrawler.feature` finds them, and what other packages bring of the same kind; a folder that is taken away is a feature
less, and nothing else.
"""
