"""The command line: one command a file; each reads its settings, calls the house below, and writes for people.

Results go to standard output, everything else (progress, warnings, errors) to standard error.
"""

try:
    from scrawler.cli.main import main, program
except KeyboardInterrupt:  # a Ctrl-C while the program is loaded, for some tenths of a second: nothing has begun
    raise SystemExit(130) from None

__all__ = ["main", "program"]
