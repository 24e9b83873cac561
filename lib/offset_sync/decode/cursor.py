"""A cursor over one record's bytes.

Integers are big-endian; strings are never null and have an int16 length in front. Trailing bytes are no error, as for
Kafka. Anything else that is not understood, another version included, raises DecodeError.
"""

from __future__ import annotations

_VARINT_BYTES = 5
_VARINT_LIMIT = 1 << 32


class DecodeError(ValueError):
    """The bytes are not what the format allows; the message names the part, the field and the lengths."""


class Cursor:
    """Reads fields one after the other; *part* (``key`` or ``value``) begins every message.

    Every read checks the bounds first and raises :class:`DecodeError`. Bytes left over after the last field are no
    error: the broker does not check them either. *compact* lengths are varints of length + 1, as in flexible versions.
    """

    def __init__(self, octets: bytes, part: str) -> None:
        self._octets, self._part = octets, part
        self._position = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._octets) - self._position

    def error(self, message: str) -> DecodeError:
        """Return an error that says which part is meant."""
        return DecodeError(f"{self._part}: {message}")

    def integer(self, width: int, field: str) -> int:
        """Read a signed big-endian integer of *width* bytes."""
        if self.left < width:
            raise self.error(f"{field} needs {width} bytes, {self.left} left")
        return int.from_bytes(self._take(width), "big", signed=True)

    def varint(self, field: str) -> int:
        """Read an unsigned varint of at most five bytes and 32 bits."""
        number = 0
        for index in range(_VARINT_BYTES):
            if not self.left:
                raise self.error(f"{field} varint is cut off after {index} bytes")
            octet = self._take(1)[0]
            number |= (octet & 0x7F) << (7 * index)
            if octet < 0x80:
                if number >= _VARINT_LIMIT:
                    raise self.error(f"{field} varint exceeds 32 bits")
                return number
        raise self.error(f"{field} varint is longer than {_VARINT_BYTES} bytes")

    def nullable_string(self, field: str, *, compact: bool) -> bytes | None:
        """Read a string that may be null."""
        length = self.length(field, 2, compact)
        return None if length == -1 else self._take(self.checked(length, field))

    def text(self, field: str, *, compact: bool = False) -> str:
        """Read a string as text, NUL bytes included; anything but valid UTF-8 is an error."""
        try:
            return self._take(self.checked(self.length(field, 2, compact), field)).decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"{field} is not valid UTF-8") from None

    def count(self, field: str, *, compact: bool) -> int:
        """Read the size of an array that may not be null; an element has at least one byte."""
        return self.checked(self.length(field, 4, compact), field)

    def tags(self) -> dict[int, bytes]:
        """Read the tagged fields that end a flexible struct; of a repeated tag the last one counts, as in Java."""
        number = self.varint("tag count")
        if number > self.left:
            raise self.error(f"tag count {number} exceeds the {self.left} bytes left")
        return {self.varint("tag"): self._tagged_field() for _ in range(number)}

    def length(self, field: str, width: int, compact: bool) -> int:
        """Read a length, -1 for null, of *width* bytes unless it is *compact*; see :meth:`checked`."""
        name = f"{field} length"
        return self.varint(name) - 1 if compact else self.integer(width, name)

    def checked(self, length: int, field: str) -> int:
        """Return a *length* that is not null, and not more than there are bytes left."""
        if length == -1:
            raise self.error(f"{field} is null")
        if length < 0:
            raise self.error(f"{field} length {length} is negative")
        if length > self.left:
            raise self.error(f"{field} length {length} exceeds the {self.left} bytes left")
        return length

    def _tagged_field(self) -> bytes:
        return self._take(self.checked(self.varint("tag size"), "tagged field"))

    def _take(self, length: int) -> bytes:
        taken = self._octets[self._position : self._position + length]
        self._position += length
        return taken
