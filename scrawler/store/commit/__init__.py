"""What a machine did, made durable: checkpoints and the rows that they write, each commit in one transaction."""
