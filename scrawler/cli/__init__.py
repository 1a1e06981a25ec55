"""The command line: one command a file; each reads its settings, calls the house below, and writes for people.

Results go to standard output, everything else (progress, warnings, errors) to standard error.
"""

from scrawler.cli.main import main

__all__ = ["main"]
