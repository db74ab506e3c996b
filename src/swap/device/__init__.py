"""Threads, CUDA graphs, Warp, and memory: what the computing hardware needs."""
