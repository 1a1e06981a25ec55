"""The tables of a crawl, and the SQL files that are rendered from them or bring an older database up to them."""
