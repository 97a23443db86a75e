"""Files that were once whole: bytes changed, cut, repeated and spliced, by a seeded generator."""

from __future__ import annotations

import numpy as np

#: What parsers trip over.
TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b",", b"\n", b"\r", b"\r\n", b"{", b"}", b"[", b"]", b"\\",
    b"null", b"NaN", b"Infinity", b"-1", b"1e999", b"99999999999999999999", b"0x10", b"\xc3\x28", "\u202e".encode(),
    b"<script>", b"__import__", b"PAR1", b"\x93NUMPY", b'{"a":' * 50, b"[" * 200,
)  # fmt: skip


def mutated(raw: bytes, rng: np.random.Generator) -> bytes:
    """A few random changes to a file."""
    data = bytearray(raw)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(data) + 1))
        length = int(rng.integers(1, 20))
        kind = int(rng.integers(6))
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]
        elif kind == 3:
            data[at : at + length] = rng.integers(0, 256, size=length, dtype=np.uint8).tobytes()
        elif kind == 4:
            data[at:at] = data[at : at + 10 * length]
        elif data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
    return bytes(data)
