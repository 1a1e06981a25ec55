"""Visits to pages after the first: what they have found.

Machines write a row for each change that a visit finds. `log` reads these rows; `library` is what `Crawl` has of it,
`cli` the commands `changes` and `diff`. `diff` compares what two visits got, `atom` makes a feed of changes, and
`telling` says of visits what `why` and `report` show.
"""
