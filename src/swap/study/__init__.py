"""A study file in; runs of all its arms and seeds, what they can do, tables and figures out.

Read in this order: study -> plan -> status -> mps -> pool -> work -> slurm -> results -> tables ->
figures -> films -> report
"""
