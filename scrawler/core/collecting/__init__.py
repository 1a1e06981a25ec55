"""The URL Collectors: each a thread that visits sites by its `schedule` and hands what lands to where it belongs."""
