"""Draws a gallery of courses: a folder of pictures and an index page."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from swap.courses.course import Course
from swap.courses.families import CourseFamily, get_family, make
from swap.env import EnvCfg
from swap.files import atomic_write
from swap.robots import Robot
from swap.sim import make_engine
from swap.view.framing import fit_view
from swap.view.render import PictureCfg, Renderer
from swap.view.scene import Scene, scene_of

DIFFICULTIES = (0.0, 1 / 3, 2 / 3, 1.0)
FROM_AFAR = PictureCfg(sky_low=(0.84, 0.90, 0.95), haze_m=100.0)
"""Seen from above, much of a picture is low sky, and the whole course should be free of haze."""
SEAM = 6
"""White pixels between a course and its mirror image."""


@dataclass(frozen=True)
class Shot:
    """One picture: a course and its mirror image, side by side."""

    course: Course
    file: str


def gallery(
    out: Path, names: Sequence[str], seed: int, width: int, height: int
) -> Iterator[tuple[CourseFamily, list[Shot]]]:
    """Writes the pictures and yields each family when it is done; writes the index page last."""
    families, robot = [get_family(name) for name in names], EnvCfg().load_robot()
    look = replace(FROM_AFAR, width=width, height=height)
    x, y, z = look.sun  # mirrored like the course and the camera
    render, render_mirrored = Renderer(robot, look), Renderer(robot, replace(look, sun=(x, -y, z)))
    done = []
    for family in families:
        # One seed for a family's row: only the difficulty changes along it.
        courses = [make(family.name, d, np.random.default_rng(seed)) for d in DIFFICULTIES]
        scenes = scenes_of(robot, courses)
        images = scenes_of(robot, [course.mirror() for course in courses])
        view = fit_view(scenes, [course.goal_x for course in courses], width / height)
        shots = []
        for course, scene, image in zip(courses, scenes, images, strict=True):
            plain, mirrored = render(scene, view), render_mirrored(image, view.mirror())
            seam = np.full((height, SEAM, 3), 255, np.uint8)
            shot = Shot(course, f"{family.name}-{round(100 * course.difficulty):03d}.png")
            with atomic_write(out / shot.file) as file:
                Image.fromarray(np.hstack([plain, seam, mirrored])).save(file, optimize=True)
            shots.append(shot)
        done.append((family, shots))
        yield family, shots
    with atomic_write(out / "index.html") as file:
        file.write_text(page(done, seed), encoding="utf-8")


def scenes_of(robot: Robot, courses: Sequence[Course]) -> list[Scene]:
    """Puts the robot at the start of each course. The start is moved to height 0, because colours
    show heights."""
    low = [
        replace(c, pos=c.pos - [0.0, 0.0, c.start_z], goal_z=c.goal_z - c.start_z, start_z=0.0)
        for c in courses
    ]
    engine = make_engine("cpu", robot, low, len(low), threads=1)
    everyone = torch.ones(len(low), dtype=torch.bool)
    engine.assign(everyone, torch.arange(len(low)))
    engine.reset(everyone)
    return [scene_of(robot, engine.state, engine.boxes, k) for k in range(len(low))]


def page(rows: Sequence[tuple[CourseFamily, Sequence[Shot]]], seed: int) -> str:
    links = "".join(f'<a href="#{f.name}">{title(f.name)}</a>' for f, _ in rows)
    body = "".join(section(family, shots) for family, shots in rows)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>SWAP courses</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>Courses</h1>
<p>Every course is made of boxes. Left in each picture: the course; right: its exact mirror image,
seen by the mirrored camera. The robot stands at the start: its left legs are orange, its right
ones blue. Lines are 1 m apart, fainter ones 0.5 m; colours tell heights above the start. Seed
{seed}.</p>
<nav>{links}</nav>
</header>
<main>
{body}</main>
</body>
</html>
"""


def section(family: CourseFamily, shots: Sequence[Shot]) -> str:
    span = family.size
    sizes = f"{span.low:g} to {span.high:g} {span.unit}" if span.low < span.high else "One size"
    about = html.escape(family.about.capitalize())
    figures = "".join(figure(family, shot) for shot in shots)
    return f"""<section id="{family.name}">
<h2>{title(family.name)} <code>{family.name}</code></h2>
<p>{about}. {sizes} <span class="origin">{family.origin}</span></p>
<div class="row">
{figures}</div>
</section>
"""


def figure(family: CourseFamily, shot: Shot) -> str:
    course = shot.course
    size = "" if family.size.low == family.size.high else f"<b>{family.size.label(course.size)}</b>"
    boxes = f"{course.n} box{'es' * (course.n > 1)}"
    return f"""<figure>
<a href="{shot.file}"><img src="{shot.file}" loading="lazy"
alt="{title(family.name)} at difficulty {course.difficulty:.2f}, and its mirror image"></a>
<figcaption>{size}<span>difficulty {course.difficulty:.2f}</span><span>{boxes}</span></figcaption>
</figure>
"""


def title(name: str) -> str:
    return html.escape(name.replace("_", " ").capitalize())


STYLE = """
:root { --ink: #1d2733; --soft: #5d6b7a; --paper: #f6f8fa; --card: #fff; --line: #dde3ea; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf1; --soft: #9aa7b5; --paper: #12171d; --card: #1b222b; --line: #2c3641; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
header, main { max-width: 1500px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 32px; }
h1 { margin: 0; font-size: 32px; letter-spacing: -.02em; }
header p { max-width: 72ch; color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: 8px; }
nav a { padding: 3px 12px; border: 1px solid var(--line); border-radius: 99px; color: var(--ink);
  text-decoration: none; font-size: 14px; background: var(--card); }
section { padding-top: 28px; }
h2 { margin: 0; font-size: 21px; }
h2 code { font-size: 13px; font-weight: 400; color: var(--soft); }
section > p { margin: 0 0 12px; color: var(--soft); }
.origin { margin-left: 6px; padding: 1px 8px; border: 1px solid var(--line); border-radius: 99px;
  font-size: 12px; }
.row { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 560px), 1fr));
  gap: 16px; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  overflow: hidden; }
img { display: block; width: 100%; height: auto; }
figcaption { display: flex; gap: 16px; padding: 8px 12px; font-size: 14px; color: var(--soft); }
figcaption b { color: var(--ink); }
main { padding-bottom: 48px; }
"""
