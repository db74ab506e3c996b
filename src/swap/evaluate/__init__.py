"""What the system is worth, measured: the simulator's mirror and speed, a policy's success.

Read in this order: scenes -> mirror_audit -> parity_audit -> rivals -> sim_bench;
trained -> wilson -> success -> curves -> figures
"""
