"""What the system is worth, measured: the simulator's mirror and speed, a trained robot's success,
its gait, its mirror, and what it imagines.

Read in this order: scenes -> mirror_audit -> parity_audit -> rivals -> sim_bench; train_bench;
trained -> wilson -> success -> record -> footfalls -> gait -> imagination -> pairs -> model_audit
-> curves -> figures
"""
