"""A bundle of a robot as small as can be, and a robot that stands still."""

import pytest

import tiny_swap
from still_robot import Still
from swap.export.write import export


@pytest.fixture(scope="session")
def bundle(tmp_path_factory):
    return export(tiny_swap.robot(), tmp_path_factory.mktemp("bundle") / "tiny.bundle")


@pytest.fixture
def still(bundle):
    return Still(bundle)
