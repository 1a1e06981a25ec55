"""What the documentation says by itself: tables of settings, commands, parts and database, read from the program.

`python -m docsite` writes them into the pages of `docs/`, between marks `<!-- NAME: ... -->` and `<!-- /NAME -->`; what
stands outside of the marks is written by hand. `make docs` does that before it builds the site.
"""
