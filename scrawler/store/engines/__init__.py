"""Connections and transactions of any engine: a database is opened here, waited for, and written to in bulk."""
