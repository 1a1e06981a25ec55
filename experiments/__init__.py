"""Experiments that check what the papers and this project claim, real sites on this machine, and benchmarks."""
