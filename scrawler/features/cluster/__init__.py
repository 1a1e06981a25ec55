"""Several machines: who owns which site, agents without a common database, and what they send to each other.

Only what is not needed by one machine is here. `declaration` names it, and `build` has the hooks: they look at the
settings, and load the rest where these ask for it.
"""
