"""Stacks the picture strips of all arms into one picture for each film."""

from pathlib import Path

from swap.files import atomic_write
from swap.study.plan import Folder
from swap.study.study import Run, Study

BAR, EDGE = 20, 5
"""Pixels: the height of a line with an arm's name, and the margin around the name."""


def write_strips(study: Study, folder: Folder) -> list[Path]:
    """Writes `film-NAME.png` for each film that exists of any arm, with the first seed that has
    one."""
    out = []
    for name in study.film:
        there = {}
        for arm in study.arms:
            runs = (Run(arm, seed) for seed in study.seeds)
            filmed = next((run for run in runs if folder.film(name, run).is_file()), None)
            if filmed is not None:
                there[filmed.name] = folder.film(name, filmed)
        if there:
            out.append(folder.root / f"film-{name}.png")
            write_stacked(there, out[-1])
    return out


def write_stacked(pictures: dict[str, Path], path: Path) -> None:
    """Writes the pictures one below the other, each under its name."""
    from PIL import Image, ImageDraw

    images = {name: Image.open(picture).convert("RGB") for name, picture in pictures.items()}
    width = max(image.width for image in images.values())
    height = sum(image.height + BAR for image in images.values())
    whole, y = Image.new("RGB", (width, height), "white"), 0
    draw = ImageDraw.Draw(whole)
    for name, image in images.items():
        draw.text((EDGE, y + EDGE), name, fill="black")
        whole.paste(image, (0, y + BAR))
        y += BAR + image.height
    with atomic_write(path) as file:
        whole.save(file, format="png")
