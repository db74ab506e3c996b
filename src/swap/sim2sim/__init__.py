"""Another simulator: a robot as a process of its own, which a controller knows by messages only.

Read in this order: cfg -> clutter -> disturbances -> body -> camera -> conditions -> referee ->
process -> measure. The robot's process knows robots and courses, and no engine or sensor of
training's.
"""
