"""Terrain made of boxes: one function per obstacle, difficulties from 0 up, and mirror images."""

from swap.courses.blocks import Obstacle, SizeRange
from swap.courses.course import SLOTS, Boxes, Course, stack
from swap.courses.families import FAMILIES, CourseFamily, difficulty_of, make, register, size_of
from swap.courses.run_up import run_up
from swap.courses.success import HOLD_S, Goals, fallen, goals, held, reached

__all__ = [
    "FAMILIES",
    "HOLD_S",
    "SLOTS",
    "Boxes",
    "Course",
    "CourseFamily",
    "Goals",
    "Obstacle",
    "SizeRange",
    "difficulty_of",
    "fallen",
    "goals",
    "held",
    "make",
    "reached",
    "register",
    "run_up",
    "size_of",
    "stack",
]
