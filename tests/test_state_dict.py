"""Named tensors are not copied, are written in place, and errors name the tensor that does not
fit."""

import pytest
import torch

from swap.errors import UserError
from swap.state_dict import Buffers, copy_into, join_states, sub_state


class Walker(Buffers):
    """Saves two tensors; the network and the third tensor are not part of its state."""

    pos: torch.Tensor
    steps: torch.Tensor

    def __init__(self, n: int) -> None:
        super().__init__(pos=torch.zeros(n, 2), steps=torch.zeros(n, dtype=torch.long))
        self.net, self.scale = torch.nn.Linear(2, 2), torch.ones(n)

    def walk(self) -> None:
        self.pos += 1.5
        self.steps.add_(1)


def test_what_is_kept_is_what_was_named_and_it_is_live():
    walker = Walker(3)
    state = walker.state_dict()
    assert list(state) == ["pos", "steps"]
    walker.walk()
    assert torch.equal(state["pos"], torch.full((3, 2), 1.5))
    assert torch.equal(state["steps"], torch.ones(3, dtype=torch.long))


def test_a_state_is_loaded_in_place():
    one, two = Walker(3), Walker(3)
    places = [x.data_ptr() for x in two.state_dict().values()]
    one.walk()
    saved = {name: x.clone() for name, x in one.state_dict().items()}
    one.walk()
    two.load_state_dict(saved)
    assert [x.data_ptr() for x in two.state_dict().values()] == places
    two.walk()
    for name, x in one.state_dict().items():
        assert torch.equal(x, two.state_dict()[name]), name


def test_a_state_that_does_not_fit_is_named():
    with pytest.raises(UserError, match="'steps' is not among the saved tensors"):
        Walker(3).load_state_dict({"pos": torch.zeros(3, 2)})
    with pytest.raises(UserError, match=r"'pos' was saved as \[4, 2\], now it is \[3, 2\]"):
        Walker(3).load_state_dict(Walker(4).state_dict())


def test_states_are_joined_and_taken_apart():
    one, two = Walker(2), Walker(2)
    joined = join_states(left=one.state_dict(), right=two.state_dict())
    assert list(joined) == ["left/pos", "left/steps", "right/pos", "right/steps"]
    assert sub_state("right/", joined).keys() == two.state_dict().keys()
    copy_into(joined, {name: x + 1 for name, x in joined.items()})  # in place, through the names
    assert torch.equal(two.pos, torch.ones(2, 2))
