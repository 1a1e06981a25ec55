"""Traps: which patterns of a party's URLs bring nothing new, so that no more of them is fetched."""
