"""What the experiments share: servers and crawls measured from outside, tables, plots, comparison with a paper.

`command.py` gives each experiment its options, `crawls.py` serves a synthetic web and crawls it, `process.py` measures
a program, `report.py` writes what was measured as CSV, Markdown and PNG, `plots.py` draws.
"""
