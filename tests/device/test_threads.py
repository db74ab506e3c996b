"""Threads are divided as asked, and given back."""

import threading

import pytest
import torch

from swap.device.threads import Cores, SideBySide, one_thread

CPU = torch.device("cpu")


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def where():
    return threading.get_ident(), torch.get_num_threads()


@pytest.mark.usefixtures("four_threads")
def test_one_thread_if_wanted():
    with one_thread(wanted=True):
        assert torch.get_num_threads() == 1
    with one_thread(wanted=False):
        assert torch.get_num_threads() == 4
    assert torch.get_num_threads() == 4


@pytest.mark.usefixtures("four_threads")
def test_two_functions_run_at_once_with_half_of_the_threads_each():
    pair, meeting = SideBySide(CPU), threading.Barrier(2, timeout=10)

    def meet():
        meeting.wait()  # raises unless the other one is running, too
        return where()

    with pair.open():
        assert pair.active
        (here, ours), (there, theirs) = pair(meet, meet)
    assert here == threading.get_ident() != there
    assert ours == theirs == 2
    assert torch.get_num_threads() == 4
    assert not pair.active


@pytest.mark.usefixtures("four_threads")
def test_the_threads_are_given_back_after_an_error():
    def fail():
        raise ValueError("no")

    for pair_of in ((fail, where), (where, fail)):
        pair = SideBySide(CPU)
        with pytest.raises(ValueError, match="no"), pair.open():
            pair(*pair_of)
        assert torch.get_num_threads() == 4
        assert not pair.active


@pytest.mark.parametrize(("device", "threads"), [("cpu", 1), ("cuda", 4)])
def test_one_after_the_other_where_there_is_one_thread_or_a_gpu(device, threads, four_threads):
    torch.set_num_threads(threads)
    pair = SideBySide(torch.device(device))
    with pair.open():
        assert not pair.active
        assert pair(where, where) == (where(), where())
    assert pair(lambda: 1, lambda: 2) == (1, 2)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(("rows", "shares"), [(1, 1), (63, 1), (64, 2), (130, 4), (1000, 4)])
def test_cores_share_all_rows_and_work_at_once(rows, shares):
    cores, meeting, done = Cores(rows, CPU), threading.Barrier(shares, timeout=10), []

    def work(first, last):
        meeting.wait()  # raises unless all the others are running, too
        done.extend(range(first, last))

    for _ in range(2):
        done.clear()
        cores(work)
        assert sorted(done) == list(range(rows))


@pytest.mark.usefixtures("four_threads")
def test_an_error_on_another_core_is_raised_here():
    def work(first, last):
        if last == 128:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        Cores(128, CPU)(work)
