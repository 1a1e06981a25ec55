"""Many machines on one host: a supervisor and its machine processes.

Settings go down a machine's standard input, whose end tells it to stop; progress and one last report (a summary, or
what went wrong) come back up its standard output. What the machines share is in the database alone.
"""
