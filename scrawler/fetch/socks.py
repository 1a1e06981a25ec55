"""A connection through a SOCKS 5 proxy (RFC 1928, RFC 1929), which looks the names of hosts up itself."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from math import inf
from time import monotonic
from typing import Any

from scrawler.model.proxy import Proxy

_VERSION = b"\x05"
_NO_LOGIN, _LOGIN = 0, 2
_CONNECT = b"\x05\x01\x00"
_IPV4, _NAME, _IPV6 = 1, 3, 4  # types of addresses
_LENGTHS = {_IPV4: 4, _IPV6: 16}  # bytes of an address by its type
_LONGEST = 255  # bytes of a name, a user and a password
_REPLIES = {
    1: "it failed",
    2: "it does not allow this",
    3: "the network cannot be reached",
    4: "the host cannot be reached",
    5: "the host refuses the connection",
    6: "it took too long",
    8: "it knows no addresses of this type",
}


def connect(proxy: Proxy, host: str, port: int, timeout: float | None) -> socket.socket:
    """Return a connection to a host, made within `timeout` seconds, all steps of it together. Raises OSError."""
    deadline = inf if timeout is None else monotonic() + timeout
    address = _address(proxy, host)
    wire = _Wire(_connected(proxy, deadline), deadline)
    try:
        _log_in(wire, proxy)
        wire.send(_CONNECT + address + port.to_bytes(2))
        version, reply, _, kind = wire.read(4)
        if version != _VERSION[0]:
            raise OSError(f"proxy {proxy}: it speaks no SOCKS 5")
        if reply:
            raise OSError(f"proxy {proxy}: {_REPLIES.get(reply, f'it says {reply}')}")
        if kind != _NAME and kind not in _LENGTHS:
            raise OSError(f"proxy {proxy}: it answers with an address of an unknown type, {kind}")
        length = wire.read(1)[0] if kind == _NAME else _LENGTHS[kind]
        wire.read(length + 2)  # where it is connected from, which is of no use
        wire.sock.settimeout(timeout)
    except BaseException:
        wire.sock.close()
        raise
    return wire.sock


class _Wire:
    """A connection whose every step ends by one deadline (monotonic seconds)."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock = sock
        self._deadline = deadline

    def send(self, data: bytes) -> None:
        self.sock.settimeout(_left(self._deadline))
        self.sock.sendall(data)

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            self.sock.settimeout(_left(self._deadline))
            piece = self.sock.recv(size - len(data))
            if not piece:
                raise ConnectionError("the proxy has closed the connection")
            data += piece
        return data


def _left(deadline: float) -> float | None:
    """Return the seconds until a deadline, None if there is none. Raises TimeoutError."""
    if deadline == inf:
        return None
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError("the proxy took too long")
    return left


def _connected(proxy: Proxy, deadline: float) -> socket.socket:
    """Connect to a proxy, at the first of its addresses that answers."""
    failed: OSError | None = None
    for family, kind, protocol, _, place in _places(proxy):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_left(deadline))
            sock.connect(place)
        except OSError as error:
            sock.close()
            if isinstance(error, TimeoutError):
                raise
            failed = error
        else:
            return sock
    raise OSError(f"proxy {proxy}: {failed or 'it has no address'}") from failed


def _places(proxy: Proxy) -> list[Any]:
    try:
        return socket.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OSError(f"proxy {proxy}: {error.strerror}") from error


def _address(proxy: Proxy, host: str) -> bytes:
    """Return a host as the proxy is told it: an address as one, anything else as a name (RFC 1928, 5)."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        name = host.encode("ascii")
        if len(name) > _LONGEST:
            raise OSError(f"proxy {proxy}: a name of more than {_LONGEST} bytes") from None
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed


def _log_in(wire: _Wire, proxy: Proxy) -> None:
    wire.send(_VERSION + (bytes([2, _NO_LOGIN, _LOGIN]) if proxy.user else bytes([1, _NO_LOGIN])))
    version, method = wire.read(2)
    if version != _VERSION[0] or method not in (_NO_LOGIN, _LOGIN) or (method == _LOGIN and not proxy.user):
        raise OSError(f"proxy {proxy}: it wants a user and a password, or speaks no SOCKS 5")
    if method == _NO_LOGIN:
        return
    user, password = proxy.user.encode(), proxy.password.encode()
    if max(len(user), len(password)) > _LONGEST:
        raise OSError(f"proxy {proxy}: a user or password of more than {_LONGEST} bytes")
    wire.send(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
    if wire.read(2)[1]:
        raise OSError(f"proxy {proxy}: user and password are wrong")
