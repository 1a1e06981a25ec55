"""When a page is due again: pure functions of what checks of it have shown, and of what a budget allows.

In goes what each visit of a page tells (how long since the one before, changed or not, what Last-Modified says); out
comes when to visit it next, with the reason. Nothing here reads a clock, a file or a database. Times are seconds, rates
are changes or visits a second.

`change` says whether a page has changed, and how far a site's own word on that is believed. `estimator` makes a rate of
change of a page's checks (28 bytes of state a page) and of what its site is like. `policy` is the theory: freshness,
age, and the multiplier at which visits use a budget best, over a histogram that does not grow with the pages.
`importance` says what a page weighs. `schedule` brings them together: the next visit by one of four policies.

What machines do with it: `due` has the policies that settings and seeds' lines name, and `visit` makes of what was
known of a URL, and of the row of one more visit, what is known from now on, when it is due next, and what has changed.
`learning` keeps what visits show of a site's rates while a machine holds it, and `demand` counts in cells, which a
database adds up, how many pages of what kind share a budget.
"""
