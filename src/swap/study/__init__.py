"""Studies: trains all arms and seeds of a study file, measures the robots, and makes tables and
figures.

Read in this order: study -> plan -> status -> mps -> pool -> work -> slurm -> results -> tables ->
figures -> films -> report
"""
