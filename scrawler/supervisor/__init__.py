"""Many machines on one host: a supervisor and its machine processes.

Settings go down a machine's standard input, whose end tells it to stop; progress, remarks for the user and one last
report (a summary, or what went wrong) come back up its standard output (`messages`). `child` is the process (which
`child_process` starts by a command), `process` how the supervisor sees it, `forked` how the first ones come to be,
`restarts` when one is given up, `tally` what all did together. What the machines share is in the database alone.
"""
