"""Experiments: real sites on this machine, an independent walk to compare with, and benchmarks."""
