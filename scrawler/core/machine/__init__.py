"""One crawling machine.

`machine` starts its threads and follows the orders that a `heartbeat` brings; `crew` is all collectors together;
`ending` lets everything come to its end; `permission` says whether a request may be started, by the `lease` as well.
"""
