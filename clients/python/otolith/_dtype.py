"""A channel's field table as a NumPy dtype: field names flattened with dots, after what every sample has."""
from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = {1: "u1", 2: "i1", 3: "<u2", 4: "<i2", 5: "<u4", 6: "<i4", 7: "<u8", 8: "<i8", 9: "<f4", 10: "<f8"}
_TEXT = 11
HEAD_BYTES = 32
HEAD = np.dtype([("t_ns", "<i8"), ("sensor_time_ns", "<i8"), ("seq", "<u8"), ("flags", "<u4"), ("bytes", "<u4")])
assert HEAD.itemsize == HEAD_BYTES


def fields_of(record_type: Any) -> list[Any]:
    return [record_type.fields[i] for i in range(record_type.field_count)]


def _format(field: Any) -> Any:
    if field.type == _TEXT:
        return f"S{field.count}"
    return _KINDS[field.type] if field.count == 1 else (_KINDS[field.type], (field.count,))


_HEAD = [("t_ns", "<i8", 0), ("sensor_time_ns", "<i8", 8), ("seq", "<u8", 16), ("flags", "<u4", 24)]
_HEAD_NAMES = [name for name, _, _ in _HEAD]


def _name(field: Any) -> str:
    """A field may be called as one of the head's: then it is "record.t_ns"."""
    name = field.name.decode()
    return f"record.{name}" if name in _HEAD_NAMES else name


def sample_dtype(record_type: Any) -> np.dtype:
    """One sample as it stands in memory: the head of 32 bytes, then the payload."""
    fields = fields_of(record_type)
    columns: list[tuple[str, Any, int]] = [*_HEAD] + [(_name(field), _format(field), HEAD_BYTES + field.offset) for field in fields]
    names, formats, offsets = zip(*sorted(columns, key=lambda column: column[2]))  # np.save needs this order
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": HEAD_BYTES + record_type.bytes})


def join(heads: np.ndarray, payloads: np.ndarray) -> np.ndarray:
    """Heads and payloads of n samples side by side: n rows of bytes, each one sample of sample_dtype."""
    return np.concatenate([heads.view(np.uint8).reshape(len(heads), HEAD_BYTES), payloads], axis=1)
