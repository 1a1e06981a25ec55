"""The Link header (RFC 8288): which URL it calls canonical (RFC 6596)."""

from __future__ import annotations

import re

# A target holds no "<", and there is one way only to read what follows: whatever comes is passed over once.
_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_LINK = re.compile(rf'<(?P<target>[^<>]*)>(?P<parameters>[^,"]*(?:{_QUOTED}[^,"]*)*)', re.DOTALL)
_PARAMETER = re.compile(rf';\s*(?P<name>[^\s=;"]+)\s*(?:=\s*(?P<value>{_QUOTED}|[^\s;]*))?', re.DOTALL)


def canonical_targets(value: str) -> list[str]:
    """Return the targets of links with the relation canonical, as written; of links from elsewhere (anchor) none."""
    return targets_of(value, "canonical")


def targets_of(value: str, relation: str) -> list[str]:
    """Return the targets of links with a relation, as written; of links from elsewhere (anchor) none."""
    if relation not in value.lower():
        return []
    return [link["target"].strip() for link in _LINK.finditer(value) if _has(link["parameters"], relation)]


def _has(source: str, relation: str) -> bool:
    parameters: dict[str, str] = {}
    for match in _PARAMETER.finditer(source):
        parameters.setdefault(match["name"].lower(), (match["value"] or "").strip('"'))  # RFC 8288, 3.3: first counts
    return relation in parameters.get("rel", "").lower().split() and not parameters.get("anchor")
