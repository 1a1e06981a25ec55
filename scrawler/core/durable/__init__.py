"""On the way to the database.

`deltas` of sites are what has changed in memory, `handover` gives them away, the `checkpointer` commits them.
`reads` asks the database for what a party needs, after that.
"""
