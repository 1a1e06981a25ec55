"""How long requests wait for what they share, by the operational laws of closed queueing networks.

A site has one request under way and then thinks for its pause, so it is a customer of a closed network: what all of
them together get served in a second cannot exceed what a server can do, and once it would, each of them waits. (P. J.
Denning, J. P. Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 10(3), 1978: the
utilisation law and the response time law.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

_ENOUGH = 1e-4  # share of a server's time that is near enough
_TRIES = 60


def thread_wait(sites: Sequence[tuple[float, float]]) -> float:
    """Return how long a request takes at a thread that serves one at a time, first come, first served, itself included.

    `sites` are (seconds of service, pause) of each; 0: nobody waits for another one. It is the W for which the shares
    of the thread's time, service / (pause + max(W, service)), add up to 1.
    """
    if len(sites) < 2 or sum(service / (pause + service) for service, pause in sites if service) <= 1.0:
        return 0.0
    wait = max(0.0, sum(service for service, _ in sites) - max(pause for _, pause in sites))
    for _ in range(_TRIES):  # Newton's method comes from the left of the zero, for the function falls and is convex
        used, slope = -1.0, 0.0
        for service, pause in sites:
            cycle = pause + (wait if wait > service else service)
            used += service / cycle
            if wait >= service:
                slope += service / (cycle * cycle)
        if used < _ENOUGH:
            break
        wait = wait + used / slope if slope else min(service for service, _ in sites if service > wait)
    return wait


def processor_wait(used: Callable[[float], float], costs: Iterable[float]) -> float:
    """Return how long each request waits for a processor, 0 if that has time for all.

    `used(wait)` is the share of its time that is used if each waits so long, which falls with it; `costs` are what a
    request of each site takes. With a wait of their sum it is 1 at most.
    """
    low, high = 0.0, sum(costs)
    at_low, at_high = used(low) - 1.0, used(high) - 1.0
    if at_low <= 0.0 or at_high >= 0.0:
        return low if at_low <= 0.0 else high
    wait = high
    for _ in range(_TRIES):  # 1 / used is nearly a straight line, so that secants come near soon
        a, b = 1.0 / (at_low + 1.0), 1.0 / (at_high + 1.0)
        wait = low + (high - low) * (1.0 - a) / (b - a)
        at = used(wait) - 1.0
        if abs(at) < _ENOUGH:
            break
        if at > 0:
            low, at_low = wait, at
        else:
            high, at_high = wait, at
    return wait
