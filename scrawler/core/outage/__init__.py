"""Whether it is this machine's own network that is down, and how the machine rests while it is."""
