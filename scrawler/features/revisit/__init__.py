"""Visits to pages again: ordered by a user, or made when they are due; and what they have found.

`building` says what a machine has of it. `keeping` begins rounds: it lists URLs that are due, or that an order wants.
`step` notes what each visit has found, in the `states` of its party, whose rows are of `kinds`; `visited` makes of that
what is known from now on. `policies` has the pure functions of when a page is due again, and `wishes` what settings say
of that. `shares` divides a budget of visits, `orders` looks at settings and notes orders before machines start.

Servers that publish what has changed (ResourceSync) spare visits: `lists` reads what they list, beside sitemaps,
`publishing` knows which lists are asked for, and `told` what they have told of a party.

Machines write a row for each change that a visit finds. `log` reads these rows; `library` is what `Crawl` has of it,
`cli` the commands `changes` and `diff`. `diff` compares what two visits got, `atom` makes a feed of changes, and
`telling` says of visits what `why` and `report` show. `store` has what the database keeps of all this.
"""
