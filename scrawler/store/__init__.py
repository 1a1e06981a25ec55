"""The database of a crawl: the only package that knows SQLAlchemy.

In: a batch of seeds (`seeds.Seeds.add`), and what a machine did (`checkpoints.Checkpoints.commit`: page rows, new
entries, cursors, candidates, counts, one transaction for many sites). Out: sites with their seeds for a machine
(`claims.Claims`), lists and cursors to follow or take up (`frontier.Frontier`), and rows for people and exports
(`seeds`, `candidates`, `pages`, `machines`), streamed in bounded memory. All of them work on a `Database`
(engine.py), which hands out transactions and raises StoreError or StoreBusyError. tables.py describes the tables,
sql/ holds the same as files for a DBA (ddl.py renders them), migrations.py brings a database up to date.
"""
