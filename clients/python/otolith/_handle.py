"""What the objects that hold a handle of a library share."""
from __future__ import annotations

import ctypes as ct
from typing import Optional, TypeVar

_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """A handle that `close` gives back; also at the end of a `with` block and when the object is collected."""

    _handle: Optional[ct.c_void_p] = None  # None: not opened, or closed

    def close(self) -> None:
        """Gives the handle back."""
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
