"""Agents without a centre (paper 001): each is a machine on a database of its own, the authority for its sites.

    members     who they are, and where they listen: one file, the same for all
    views       who lives, as one agent sees it (heartbeats, time-outs), and whose a site is: the consistent ring
    partition   the view as the machine's own partition: it claims its own sites, and only while views agree
    mail        URLs of others' sites: they wait in the own database until their owner has them in its
    census      when all is over: nothing is on its way, and twice the sums are the same (Mattern's four counters)
    agent       the thread that speaks with the others
    run         makes a machine that is being built an agent
    databases   the databases of all agents, for the export
    guest       somebody who is none of them, and asks how they are

The machine itself is the one that shares a database with others: what it claims, what its checkpoints send away, and
when it may end is another's word here, and nothing else.
"""
