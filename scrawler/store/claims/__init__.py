"""Who works at what: seeds and sites, machines and their leases, shares, and what users order."""
