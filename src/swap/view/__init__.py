"""Draws pictures and films of the robot by casting rays, without a display or OpenGL, and shows it
live in a browser. Read in this order:

scene -> camera -> trace_kernels -> render_kernels -> render -> overlay -> panels -> video -> film
-> play; framing -> gallery; live
"""

from swap.view.camera import ChaseCamera, ChaseCameraCfg, FilmCamera, View
from swap.view.film import Film
from swap.view.overlay import annotate
from swap.view.render import PictureCfg, Renderer
from swap.view.scene import Scene, scene_of
from swap.view.video import Video, save_picture, strip

__all__ = [
    "ChaseCamera",
    "ChaseCameraCfg",
    "Film",
    "FilmCamera",
    "PictureCfg",
    "Renderer",
    "Scene",
    "Video",
    "View",
    "annotate",
    "save_picture",
    "scene_of",
    "strip",
]
