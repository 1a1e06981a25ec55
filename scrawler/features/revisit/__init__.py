"""Visits to pages again: ordered by a user, or made when they are due; and what they have found.

`building` says what a machine has of it. `keeping` begins rounds: it lists URLs that are due, or that an order wants.
`step` notes what each visit has found, in the `states` of its party; `visited` makes of that what is known from now on.
`shares` divides a budget of visits, `orders` looks at settings and notes orders before machines start.

Machines write a row for each change that a visit finds. `log` reads these rows; `library` is what `Crawl` has of it,
`cli` the commands `changes` and `diff`. `diff` compares what two visits got, `atom` makes a feed of changes, and
`telling` says of visits what `why` and `report` show. `store` has what the database keeps of all this.
"""
