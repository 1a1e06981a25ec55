"""Seeds on their way to collectors: URL Selector, Seed ID Queue, URL Distributor (paper 004, sections 3.2 and 3.3)."""
