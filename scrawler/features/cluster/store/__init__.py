"""What a cluster keeps in the database, in tables that the crawler declares."""
