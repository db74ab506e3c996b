"""The robot live, in a browser: simulated at real time and driven by hand. Read in this order:

faults -> driving -> world -> settings; robot_figure -> scenery -> stage -> depth_panels;
server -> gamepad -> builder -> controls -> clock -> viewer; recording, bench
"""
