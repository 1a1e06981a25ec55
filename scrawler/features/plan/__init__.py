"""Predicts a crawl: when it ends, and what bounds it.

Sites go in, with the requests that each of their seeds takes, and the rules of a crawl; a `Plan` comes out. In between
a simulation lets the crawl's own distributor deal out the sites, on virtual time. Nothing here reads or asks anything:
sizes come from an earlier crawl's rows (`known`) or are assumed (`sizes`).

simulation -> machine (claims, contention for the processor) -> collector -> site, whose requests are not made one by
one: a site goes on at a rate (`contention`) until another one changes that. So a site costs a few events, whatever its
size. What is due when stands in the `agenda`, which has the virtual time.
"""
