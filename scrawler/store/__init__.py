"""The database of a crawl: the only package that knows SQLAlchemy.

Its rooms, each on those below it:

* upkeep: a database of an earlier version is brought to this one
* sums: what reports add up
* reading: rows for people, commands and the library (`pages`, `candidates`; `traces` for one URL)
* commit: what a machine did (`checkpoints.Checkpoints.commit`: page rows, new entries, cursors, candidates, counts, one
  transaction for many sites), and what comes to a site from elsewhere (`inboxes`)
* lists: what a party follows (`frontier.Frontier`), what is listed again for retries, and records that no row has or
  that are gone (`orphans`, `losses`)
* claims: sites with their seeds for a machine (`claims.Claims`); machines, which keep their lease by heartbeats
  (`machines.Machines`) and hear of what users order (`control.Control`); seeds (`seeds.Seeds.add`); who may ask an IP
  address how much (`servers`, `shares`), and a host that another one has (`errands`)
* engines: a `Database` (`engine`), which hands out transactions, waits for one that is locked or away, and raises
  StoreError or StoreBusyError; rows in bulk
* schema: the tables (`tables`), of which sql/ holds the same as files for a DBA (`ddl` renders them), and migrations
"""
