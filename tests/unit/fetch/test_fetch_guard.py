from __future__ import annotations

from scrawler.fetch.guard import allowed_networks, refuses
from tests.tables import each

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]
PUBLIC += ["2002:808:808::1"]  # 6to4 of 8.8.8.8
PUBLIC += ["2606:4700::5efe:8.8.8.8", "2606:4700::200:5efe:808:808", "2606:4700::100:5efe:127.0.0.1"]
PRIVATE = ["127.0.0.1", "127.255.255.254", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"]
PRIVATE += ["100.127.255.255", "198.18.0.1", "192.0.2.1", "::1", "fc00::1", "fd12::1", "::ffff:127.0.0.1"]
PRIVATE += ["2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:10.0.0.1", "fd12::5efe:8.8.8.8", "fd12::200:5efe:7f00:1"]
PRIVATE += ["::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:c0a8:101::1"]
NEVER = ["0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "100.100.100.200", "168.63.129.16", "224.0.0.1"]
NEVER += ["239.255.255.255", "240.0.0.1", "255.255.255.255", "192.0.0.1", "::", "fe80::1", "fe80::1%eth0", "ff02::1"]
NEVER += ["fd00:ec2::254", "2001::1", "2001:db8::1", "3fff::1", "64:ff9b:1::1", "::ffff:169.254.169.254", "::7f00:1"]
NEVER += ["fd20:ce::254", "fd00:42::42", "fd00:ec2::23", "fd00:c1::a9fe:a9fe"]
NEVER += ["2606:4700::5efe:169.254.169.254", "2606:4700::200:5efe:169.254.169.254", "fd12::5efe:a9fe:a9fe"]
NEVER += ["fe80::5efe:8.8.8.8", "::5efe:8.8.8.8"]
NEVER += [
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "100::1",
    "4000::1",
    "",
    "localhost",
    "127.1",
    "1.2.3.4.5",
    "[::1]",
]


@each("address", PUBLIC)
def test_public(address):
    assert not refuses(address, allow_private=False)
    assert not refuses(address, allow_private=True)


@each("address", PRIVATE)
def test_private_by_permission(address):
    assert refuses(address, allow_private=False)
    assert not refuses(address, allow_private=True)


@each("address", NEVER)
def test_never(address):
    assert refuses(address, allow_private=False)
    assert refuses(address, allow_private=True)


@each(
    ("entries", "address", "passes"),
    [
        ("10.1.0.0/16", "10.1.2.3", True),
        ("10.1.0.0/16", "::ffff:10.1.2.3", True),
        ("10.1.0.0/16", "10.2.0.1", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "64:ff9b::7f00:1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("127.0.0.1", "::1", False),
        ("::1", "::1", True),
        ("::1", "127.0.0.1", False),
        ("fd00::/8", "fd12::1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("10.0.0.0/8 fd00::/8", "192.168.0.1", False),
        ("10.0.0.0/8", "8.8.8.8", True),
        # a network does not open what nobody crawls on purpose, an entry of its own does
        ("0.0.0.0/0 ::/0", "127.0.0.1", True),
        ("0.0.0.0/0 ::/0", "169.254.169.254", False),
        ("0.0.0.0/0 ::/0", "::ffff:169.254.169.254", False),
        ("0.0.0.0/0 ::/0", "fe80::1", False),
        ("0.0.0.0/0 ::/0", "224.0.0.1", False),
        ("169.254.0.0/16", "169.254.169.254", False),
        ("169.254.169.254", "169.254.169.254", True),
        ("169.254.169.254", "169.254.169.253", False),
        ("169.254.169.254/32", "2002:a9fe:a9fe::1", True),
        ("fd00::/8", "fd00:ec2::254", False),
        ("fd00:ec2::254", "fd00:ec2::254", True),
        ("fe80::1", "fe80::1%eth0", False),
        ("10.0.0.0/8", "2606:4700::5efe:10.0.0.1", True),
        ("2606:4700::/32", "2606:4700::5efe:10.0.0.1", False),
        ("2606:4700::5efe:10.0.0.1", "2606:4700::5efe:10.0.0.1", True),
        ("fd00::/8", "fd20:ce::254", False),
        ("fd20:ce::254", "fd20:ce::254", True),
        ("0.0.0.0/0 ::/0", "localhost", False),
    ],
)
def test_allowed_addresses(entries: str, address: str, passes: bool) -> None:
    assert refuses(address, False, allowed_networks(entries.split())) is not passes
