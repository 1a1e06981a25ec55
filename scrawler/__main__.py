"""`python -m scrawler`: the command line, where the script `scrawler` is not on the path."""

from __future__ import annotations

from scrawler.cli.main import program

if __name__ == "__main__":
    program()
