"""`scrawler synthweb`: serve the synthetic web; the command is the one of `python -m scrawler.synthweb`."""

from scrawler.synthweb.command import synthweb

__all__ = ["synthweb"]
