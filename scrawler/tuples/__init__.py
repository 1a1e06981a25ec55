"""How named tuples and dataclasses are made: classes are as before, but cost less to declare, or to call."""
