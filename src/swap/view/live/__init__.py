"""The robot live, in a browser: simulated at real time and driven by hand. Read in this order:

faults -> driving -> world -> robot_figure -> scenery -> depth_panels -> server -> controls
-> viewer
"""
