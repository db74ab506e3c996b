"""The server: on this machine only, one line if it cannot listen, no way out."""

import socket
import urllib.request

import pytest

from swap.errors import UserError
from swap.view.live.clock import RealTimeClock
from swap.view.live.server import PageServer, check_address


def test_a_port_in_use_is_told_in_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"{port}.*in use.*--port 0"):
            PageServer(port=port)


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70000)])
def test_an_address_that_is_none_is_told_in_one_line(host, port):
    with pytest.raises(UserError, match=r"--host|--port"):
        check_address(host, port)


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


def test_the_clock_keeps_real_time_and_tells_what_is_left():
    clock = RealTimeClock()
    for k in range(40):
        clock.wait(1.0)
        if k % 2 == 0:
            clock.sent()
    assert clock.speed == pytest.approx(1.0, abs=0.25)
    assert clock.updates_per_s == pytest.approx(25, abs=8)
    assert clock.reserve > 5
