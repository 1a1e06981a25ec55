"""Marks this folder as data of the package (`scrawler.sql`); there is no code in it."""
