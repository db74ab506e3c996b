"""What the system is worth, measured: the simulator's mirror and speed, a trained robot's success,
its gait, its mirror, and what it imagines.

Read in this order: layer_examples -> layer_check -> layer_bench; scenes -> mirror_audit ->
engine_comparison -> mujoco_renderer -> sim_bench; model_bench; train_bench; wilson -> statistics ->
causes -> success -> record -> footfalls -> gait -> imagination -> reconstruction -> mirrored_pairs
-> model_audit -> curves -> figures
"""
