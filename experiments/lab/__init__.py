"""What the experiments share: servers and crawls measured from outside, tables, plots, comparison with a paper.

`command.py` gives each experiment its options, `crawls.py` serves a synthetic web and crawls it, `process.py` measures
a program, `meter.py` counters of it while it runs, `waits.py` reads the server's log, `parallel.py` crawls side by
side, `load.py` finds what a database carries and `extrapolation.py` what is asked of one, `scaling.py` puts machines
into words, `report.py` writes what was measured as CSV, Markdown and PNG, `plots.py` draws, `readme.py` puts it into
the README.

`scrawler_command.py` starts SCrawler, `trees.py` that of another checkout, `recorded.py` with a recorder of its threads
inside, whose notes `recording.py` reads, `seen_rate.py` with another error rate of its seen filter, and `seen_cost.py`
measures one; `database.py` starts MariaDB.
"""
