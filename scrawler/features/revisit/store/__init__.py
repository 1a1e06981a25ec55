"""What the database keeps of visits again: each module reads or writes some tables of it."""
