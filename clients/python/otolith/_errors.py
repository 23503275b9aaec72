"""Statuses of libotolith as exceptions; the text is the library's sentence."""
from __future__ import annotations

from typing import Optional

from . import _library as c


class OtolithError(Exception):
    """Something failed; `status` is the number of enum oto_status."""

    def __init__(self, text: str, status: int):
        super().__init__(text)
        self.status: int = status


class NotFound(OtolithError, LookupError):
    """No such world, topic, node or parameter."""


class Timeout(OtolithError, TimeoutError):
    """The server did not answer, or no tick or sample came, in time."""


class Closed(OtolithError, ConnectionError):
    """The world has ended, or its server has died."""


_CLASSES: dict[int, type[OtolithError]] = {c.NOT_FOUND: NotFound, c.TIMEOUT: Timeout, c.CLOSED: Closed}


def check(status: int, error: Optional[c.Error] = None, what: str = "") -> None:
    """Raises unless `status` is OK."""
    if status != c.OK:
        text = error.text.decode(errors="replace") if error is not None and error.text else ""
        name = c.STATUS[status] if status < len(c.STATUS) else str(status)
        raise _CLASSES.get(status, OtolithError)(text or f"{what}: {name}", status)
