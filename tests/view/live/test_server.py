"""The server: on this machine only, one line if it cannot listen, no way out."""

import socket
import urllib.request
import warnings

import pytest
import viser
import websockets
from websockets.sync.client import connect

from swap.errors import UserError
from swap.view.live import clock as clock_module
from swap.view.live.clock import RealTimeClock
from swap.view.live.server import FORBIDDEN, PageServer, check_address


def test_a_port_in_use_is_told_in_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"{port}.*in use.*--port 0"):
            PageServer(port=port)


NO_HOSTS = ["no.such.host.invalid", "", "\n", "\udcff", "a" * 5000, "a..b", "192.0.2.1"]
"""The last one is reserved for documents: no machine has it."""


@pytest.mark.parametrize("host", NO_HOSTS)
def test_a_host_that_is_none_is_told_in_one_line(host):
    with pytest.raises(UserError, match=r"--host '.*use 127\.0\.0\.1") as told:
        check_address(host, 0)
    assert str(told.value).isprintable()


def test_a_port_that_is_none_is_told_in_one_line():
    with pytest.raises(UserError, match=r"--port 70000; use 0"):
        check_address("127.0.0.1", 70000)


def test_it_listens_on_this_machine_only_and_shares_with_nobody(capfd):
    server = PageServer(port=0)
    try:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.request_share_url() is None
        with urllib.request.urlopen(server.url, timeout=10) as answer:
            assert b"<html" in answer.read()
    finally:
        server.stop()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("own", [True, False])
def test_pages_of_other_sites_see_nothing(own):
    server = PageServer(port=0)
    address = server.url.partition("://")[2]
    origin = f"http://{address}" if own else "https://elsewhere.example"
    protocol = websockets.Subprotocol(f"viser-v{viser.__version__}")
    try:
        with connect(f"ws://{address}", origin=origin, subprotocols=[protocol]) as visitor:
            if own:
                assert visitor.recv(timeout=20)
                return
            with pytest.raises(websockets.ConnectionClosed) as closed:
                visitor.recv(timeout=20)
            assert closed.value.rcvd.code == FORBIDDEN
    finally:
        server.stop()


def test_what_is_sent_when_nobody_listens_any_more_warns_nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        server = PageServer(port=0)
        server.stop()
        server.gui.add_button("too late")


class FakeTime:
    """Time that passes only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def run_clock(monkeypatch, work_s: float, rate: float, steps: int = 200) -> RealTimeClock:
    fake = FakeTime()
    monkeypatch.setattr(clock_module, "time", fake)
    clock = RealTimeClock()
    for k in range(steps):
        fake.now += work_s
        if k % 2 == 0:
            clock.sent()
        clock.wait(rate)
    return clock


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_the_clock_keeps_time_and_tells_what_is_left(monkeypatch, rate):
    clock = run_clock(monkeypatch, work_s=0.005, rate=rate)
    assert clock.speed == pytest.approx(rate, rel=0.03)
    assert clock.updates_per_s == pytest.approx(25 * rate, rel=0.06)
    assert clock.reserve == pytest.approx(4.0, rel=0.03)


def test_a_clock_that_cannot_keep_time_says_so(monkeypatch):
    clock = run_clock(monkeypatch, work_s=0.04, rate=1.0)
    assert clock.speed == pytest.approx(0.5, rel=0.03)
    assert clock.reserve == pytest.approx(0.5, rel=0.03)
