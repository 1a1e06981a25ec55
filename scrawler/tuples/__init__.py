"""How named tuples are made: classes come in, and are as before, but cost less to call."""
