"""The file of agents: what it may hold, and one clear line for whatever else is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrawler.errors import SettingsError
from scrawler.features.cluster.agents.members import Member, MembersFile, read_members

BAD = {
    "": "has 0 agents",
    "a": "line 1: an agent is NAME tcp://HOST:PORT",
    "a tcp://h:1 2 3": "line 1: an agent is",
    "a h:1": "an address is tcp://HOST:PORT",
    "a tcp://h:0": "an address is",
    "a tcp://h:65536": "an address is",
    "a tcp://h:1 0": "a capacity is a whole number",
    "a tcp://h:1 101": "a capacity is",
    "a tcp://h:1 x": "a capacity is",
    "a tcp://h:1 sqlite:///a.db 2": "line 1: an agent is",
    "a tcp://h:1 1 2 sqlite:///a.db": "line 1: an agent is",
    "-a tcp://h:1": "a name has",
    "a tcp://h:1\na tcp://h:2": "two agents have the name a",
    "a tcp://h:1\nb tcp://h:1": "two agents have the address tcp://h:1",
    "a tcp://h:1 \ud800": "",
}


def test_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "agents.txt"
    file.write_text("# who crawls\n\nb tcp://[::1]:7000 4\na tcp://one.example:7000 # the first\n")
    assert read_members(file) == (Member("a", "tcp://one.example:7000"), Member("b", "tcp://[::1]:7000", 4))


def test_a_database_may_stand_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "agents.txt"
    file.write_text("a tcp://h:1 sqlite:///a.db\nb tcp://h:2 3 sqlite:////srv/b.db\n")
    assert read_members(file) == (
        Member("a", "tcp://h:1", database="sqlite:///a.db"),
        Member("b", "tcp://h:2", 3, "sqlite:////srv/b.db"),
    )


def test_toml(tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text('[agents.a]\naddress = "tcp://h:1"\n[agents.b]\naddress = "tcp://h:2"\ncapacity = 3\n')
    assert read_members(file) == (Member("a", "tcp://h:1"), Member("b", "tcp://h:2", 3))
    file.write_text('[agents.a]\naddress = "tcp://h:1"\ndatabase = "sqlite:///a.db"\n')
    assert read_members(file) == (Member("a", "tcp://h:1", database="sqlite:///a.db"),)
    for text in (
        "[agents.a]\naddress='tcp://h:1'\ndatabase=1\n",
        "[agents",
        "agents = 3",
        "[agents.a]\n",
        '[agents.a]\naddress="tcp://h:1"\nx=1\n',
        "[other]\n",
    ):
        file.write_text(text)
        with pytest.raises(SettingsError, match=r"agents\.toml"):
            read_members(file)


@pytest.mark.parametrize("text", [*BAD])
def test_whatever_else_is_one_line_of_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "agents.txt"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SettingsError) as caught:
        read_members(file)
    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_that_changes_is_read_again_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "agents.txt"
    file.write_text("a tcp://h:1\n")
    members = MembersFile(file)
    assert members.look() is None
    file.write_text("a tcp://h:1\nb tcp://h:2\n")
    assert members.look() is None
    assert members.address_of("b") == "tcp://h:2"
    file.write_text("nothing of the kind at all, it seems\n")
    assert "still holds" in str(members.look())
    assert members.look() is None
    assert members.address_of("b") == "tcp://h:2"
    file.unlink()
    assert "still holds" in str(members.look())
    assert members.address_of("c") is None
