"""Benchmarks, each a program: competitors take turns in one run, each run in a fresh folder, on loopback only.

Absolute figures depend on the machine and on what else it does; the ratios within one run are what counts.
Tables go to experiments/results/.
"""
