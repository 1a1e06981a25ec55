"""A broad web: thousands of equal sites with names of their own, served by Debian's nginx at next to no cost.

`pages.py` says what a site holds: its URLs, who links to whom, text of words that are used as unequally as real ones.
`server.py` writes each page once into a folder in memory and lets nginx serve it as a page of every site, with the name
of the site put in. `log.py` reads nginx's log: how many sites are held at a time, and how many pages were asked for.
"""
