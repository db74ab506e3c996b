"""What computes: torch's threads and CUDA graphs, Warp started, launched, recorded; memory."""
