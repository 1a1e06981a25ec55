"""Which URL was being read when a process died, so that it is not read again and again."""
