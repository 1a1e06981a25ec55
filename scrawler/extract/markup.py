"""Regular expressions for tags and attributes, for all that reads markup without a parser.

They are possessive: what they have taken they never give back, so each passes over a page once. Both match to the end
of the page where a quote or a tag is not closed.
"""

from __future__ import annotations

# From a tag's name to its ">", over quoted values that hold ">" themselves.
TAG_REST = r"""(?:[^>"'=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+|["'])*+"""
# One attribute of what TAG_REST matched: groups name, double, single and bare (the value by its quotes).
ATTRIBUTE = (
    r"""(?P<name>[^\s/>=][^\s/>=]*+)"""
    r"""(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"?|'(?P<single>[^']*+)'?|(?P<bare>[^\s>]*+)))?+"""
)
