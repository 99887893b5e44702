# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the hosts of one engine reach the port where they are to meet.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time

Place = tuple[str, int]

_PAUSE_S = 0.2
_ANSWER_S = 5.0
_VARIABLES = "sglang_nodes_network, sglang_nodes_port, sglang_dist_init_addr"


class MeetingError(Exception):
    """They did not meet; the text says who and what to look at."""


def split_address(text: str) -> Place:
    """Host and port. Raises MeetingError when there is no port."""
    host, _colon, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise MeetingError(f"{text!r} is no address with a port, such as 10.0.0.1:20000")
    return host.strip("[]"), int(port)


def receive(place: Place, guests: int, deadline: float) -> list[str] | None:
    """Wait until so many others have connected; returns who. None: the port is in use already.

    Raises MeetingError when the address is not this host's, or when some do not come.
    """
    try:
        listener = socket.create_server(place, family=_family(place), backlog=guests + 1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        raise MeetingError(
            f"rank 0 cannot listen on {place[0]}:{place[1]}: {error.strerror} ({_VARIABLES})"
        ) from None
    came: dict[str, bool] = {}
    count = 0
    with listener:
        while count < guests:
            left = deadline - time.monotonic()
            if left <= 0:
                raise MeetingError(
                    f"{count} of {guests} other hosts reached {place[0]}:{place[1]} "
                    f"({', '.join(came) or 'none'}). Is the port open in every firewall between "
                    f"them? ({_VARIABLES})"
                )
            listener.settimeout(left)
            with contextlib.suppress(socket.timeout):
                connection, address = listener.accept()
                connection.close()
                came[str(address[0])] = True
                count += 1
    return list(came)


def come(place: Place, deadline: float) -> None:
    """Connect to rank 0, which may begin to listen a little later. Raises MeetingError."""
    while True:
        try:
            socket.create_connection(place, timeout=_ANSWER_S).close()
            return
        except OSError as error:
            reason = error.strerror or str(error)
        if time.monotonic() >= deadline:
            raise MeetingError(
                f"rank 0 is not reached at {place[0]}:{place[1]}: {reason}. Is the port open in "
                f"every firewall between them? ({_VARIABLES})"
            )
        time.sleep(_PAUSE_S)


def _family(place: Place) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in place[0] else socket.AF_INET
