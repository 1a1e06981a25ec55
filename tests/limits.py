"""How long tests wait. None may depend on how busy the machine is: these are for what never works or never comes."""

import faulthandler

HANGS = 90.0  # seconds after which a test says that something hangs; all that works is done long before
FAR = 300.0  # seconds of a pause or limit that must not be waited for; who waits for it is seen to have done so
HEAVY = 900.0  # seconds that a heavy test has: some need minutes of computing, and share the processors with others
EARLY = FAR / 2  # what ends before has not waited for it


def allow(seconds: float) -> None:
    """Give the test at hand more time than others have: its process ends after as long from now."""
    faulthandler.dump_traceback_later(seconds, exit=True)
