"""What a machine is called, and what it is worth, when sites are divided.

`ring` is consistent hashing (paper 001, section 4.1), `identifiers` how a machine comes by the name that seeds its
places on the ring, `capacity` what it takes of the crawl. How sites are divided among machines is a feature's
(`scrawler.features.cluster`).
"""
