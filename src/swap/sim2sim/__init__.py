"""Another simulator: a robot as a process of its own, which a controller knows by messages only.

Read in this order: cfg -> body -> camera -> referee -> process -> measure. The robot's process
knows robots and courses, and none of the engines and sensors that training uses.
"""
