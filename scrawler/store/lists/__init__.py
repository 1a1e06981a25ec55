"""Lists of URLs that parties follow, those listed again for retries, and the rows that these replace."""
