"""Serves the page: by default to this machine only, and never to pages of other sites.

viser opens every interface by default, takes the next port if one is in use, prints a banner and
offers a tunnel to a server of its own. None of that happens here.
"""

import contextlib
import errno
import io
import socket
import warnings
from typing import Any

import viser

from swap.errors import UserError

LOOPBACK = "127.0.0.1"
FORBIDDEN = 1008
"""WebSocket's code for a visitor that breaks the rules."""
GONE = "Queued a .* on a closed connection"
"""viser's warning of what is sent to a visitor who has just left. That is no mistake: pages are
closed at any moment, and the viewer learns of it a little later."""


class PageServer(viser.ViserServer):
    """A viser server that does only what is asked of it."""

    def __init__(self, host: str = LOOPBACK, port: int = 8080) -> None:
        check_address(host, port)
        warnings.filterwarnings("ignore", GONE, UserWarning)
        with contextlib.redirect_stdout(io.StringIO()):
            super().__init__(host=host, port=port, label="SWAP", verbose=False)
        if port and self.get_port() != port:
            self.stop()
            raise in_use(host, port)
        self._websock_server.on_client_connect(self._refuse_other_pages)
        self.gui.configure_theme(show_logo=False, show_share_button=False)

    @property
    def url(self) -> str:
        return f"http://{self.get_host()}:{self.get_port()}"

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Does nothing: no data leaves the machine."""
        return None

    def stop(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            super().stop()

    def is_own_page(self, visitor: Any) -> bool:
        """Whether a visitor comes from the page that is served here: any other page in the same
        browser could connect, too. A program that is no browser does not say where it comes from,
        and may connect."""
        connection: Any = self._websock_server._live_connections.get(visitor.client_id)
        headers = {} if connection is None else connection.request.headers
        origin, host = headers.get("Origin"), headers.get("Host")
        return origin is None or origin.partition("://")[2] == host

    async def _refuse_other_pages(self, visitor: Any) -> None:
        """Close the connection before anything is sent on it."""
        if not self.is_own_page(visitor):
            await self._websock_server._live_connections[visitor.client_id].close(FORBIDDEN)


def check_address(host: str, port: int) -> None:
    """Refuses an address at which nothing can listen, before anything is loaded."""
    if not 0 <= port <= 65535:
        raise UserError(f"--port {port}; use 0 (any that is free) to 65535")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (socket.gaierror, UnicodeError):  # the latter: a name's parts have 1 to 63 characters
        raise not_here(host) from None
    except OSError as error:
        if error.errno in (None, errno.EADDRNOTAVAIL):
            raise not_here(host) from None
        raise in_use(host, port, error.strerror or str(error)) from None


def not_here(host: str) -> UserError:
    return UserError(
        f"--host '{host[:100]}' is no address of this machine; use 127.0.0.1 (this machine only), "
        "or 0.0.0.0 (open to everyone)"
    )


def in_use(host: str, port: int, why: str = "Address already in use") -> UserError:
    return UserError(f"cannot listen at {host}:{port} ({why}); name another port, or any: --port 0")
