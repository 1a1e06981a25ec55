"""Several machines: who owns which site, agents without a common database, and what they send to each other.

Only what is not needed by one machine is here. `declaration` names it; the crawler finds it at four places:

    build       looks at the settings, tells what files they take, and makes a machine an agent, or a guest
    modes       where external URLs go that are for other machines: parts of the setting `mode`
    store       claims, checkpoints, inboxes and outboxes, in tables that the crawler declares; `store.partitions` is
                what the setting `partition` names, which is loaded when that is set
    identity    what a machine is called beside others, and what it takes of the crawl

    partition   who owns which site: pure functions
    exchange    communicators, which carry URLs; `exchange.carrying` lets a machine work with one
    agents      agents; `agents.run` makes a machine one of them
    guests      what a machine does at the sites of others in mode cross-over
    cli_*       the commands partition and agents

For one machine, `build`, `guests` and `identity` are loaded: guests of a run before may have left parties behind.
"""
