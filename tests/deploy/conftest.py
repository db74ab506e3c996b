"""A robot that stands still."""

import pytest

from still_robot import Still


@pytest.fixture
def still(bundle):
    return Still(bundle)
