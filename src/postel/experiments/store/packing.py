"""Values as compressed JSON, and back: what is read may be damaged, or crafted to exhaust the memory."""

from __future__ import annotations

import json
import zlib
from typing import Any

# A value of this many bytes is always read; a larger one if it is at most as many times its packed size.
_LEAST_LIMIT = 4 << 20
_MOST_SHRINKING = 50


def packed(value: Any) -> bytes:
    """Return a value as compressed JSON.

    Args:
        value: Plain values, without NaN and infinity.

    Returns:
        The compressed bytes.
    """
    # The fastest level: digits of floats hardly get smaller with more effort.
    return zlib.compress(json.dumps(value, allow_nan=False).encode(), 1)


def unpacked(content: Any) -> Any:
    """Return the value that :func:`packed` compressed.

    Args:
        content: What was read; anything.

    Returns:
        The value.

    Raises:
        ValueError: If it is damaged, or would take far more memory than packed values do.

    Example:
        >>> unpacked(packed({"a": [1.5, None]}))
        {'a': [1.5, None]}
    """
    if not isinstance(content, bytes):
        raise ValueError("it is no packed value")
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(content, max(_LEAST_LIMIT, _MOST_SHRINKING * len(content)))
        if not stream.eof:
            raise ValueError("it is cut short, or larger than results are")
        return json.loads(text)
    except (zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from error
