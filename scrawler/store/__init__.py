"""The database of a crawl: the only package that knows SQLAlchemy.

In: a batch of seeds (`seeds.Seeds.add`), and what a machine did (`checkpoints.Checkpoints.commit`: page rows, new
entries, cursors, candidates, counts, one transaction for many sites). Out: sites with their seeds for a machine
(`claims.Claims`), lists and cursors to follow or take up (`frontier.Frontier`), and rows for people and exports
(`seeds`, `candidates`, `pages`, `overview`; `traces` for one URL, `reports` summed up), streamed in bounded
memory. `robots` keeps the sites' robots.txt, `servers` and `shares` who may ask an IP address how much, `slow` and
`retries` bring seeds back whose slow lane is due, or that are to be tried again. Machines keep their lease by
heartbeats (`machines.Machines`), which bring back what users ordered (`control.Control`); `orphans` notes records that
no row has, `losses` files that hold no more what rows say, and `lost_rows` takes such rows back.
All of them work on a `Database` (engine.py), which hands out transactions, waits for a database that is locked or
away, and raises StoreError or StoreBusyError. tables.py describes the tables, sql/ holds the same as files for a DBA
(ddl.py renders them), migrations.py brings a database up to date.
"""
