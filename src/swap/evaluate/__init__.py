"""What the system is worth, measured: the simulator's mirror and speed.

Read in this order: scenes -> mirror_audit -> parity_audit -> rivals -> sim_bench
"""
