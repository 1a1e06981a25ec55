"""What differs between two crawls is told, in both directions."""

from __future__ import annotations

from experiments.docsweb.profiles import Accounts, compare_profiles


def test_every_difference_is_found() -> None:
    default = Accounts({"/": "fetched", "/a": "fetched"}, {"x of s": "1"}, {"internal": "2"})
    classic = Accounts({"/": "cut", "/b": "fetched"}, {"x of s": "1"}, {"internal": "3"})
    found = {finding.what: finding.examples for finding in compare_profiles(default, classic) if finding.examples}
    assert found == {
        "pages of the default profile alone": ["/a"],
        "pages of the classic profile alone": ["/b"],
        "pages that both have, but not alike": ["/: fetched, classic: cut"],
        "counts of links that both have, but not alike": ["internal: 2, classic: 3"],
    }
    assert not any(finding.examples for finding in compare_profiles(default, default))
