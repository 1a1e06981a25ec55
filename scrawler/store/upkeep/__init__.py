"""A database of an earlier version is brought to this one, with the rows of features."""
