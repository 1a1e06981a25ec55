"""One crawling machine: its threads, its lease, its heartbeat."""
