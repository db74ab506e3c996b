"""Code that deals with the hardware: threads, CUDA graphs, Warp and Triton, and memory."""
