"""Whether it is this machine's own line that is down, and how the machine rests while it is."""
