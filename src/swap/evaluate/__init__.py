"""Measures the system: the mirror and speed of layers and simulator, and a trained robot's success,
gait, mirror errors and predictions.

Read in this order: layer_examples -> layer_check -> layer_bench; scenes -> mirror_audit ->
engine_comparison -> mujoco_renderer -> sim_bench; model_bench; train_bench; wilson -> statistics ->
causes -> success -> record -> footfalls -> gait -> obstacle_motion -> imagination -> reconstruction
-> mirrored_pairs -> model_audit -> paired_trials -> curves -> figures -> reconstruction_figure
"""
