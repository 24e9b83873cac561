"""A cursor over one record's bytes, for rare records, and simple to check; it never reads past the end."""

from __future__ import annotations

_VARINT_BYTES = 5
_VARINT_LIMIT = 1 << 32


class DecodeError(ValueError):
    """The bytes are not what the format allows; the message names the part, the field and the lengths."""


class Cursor:
    """Reads fields one after the other; *part* (``key`` or ``value``) begins every message.

    Every read checks the bounds first and raises :class:`DecodeError` without moving. Bytes left over
    after the last field are no error: the broker does not check them either.
    """

    def __init__(self, octets: bytes, part: str) -> None:
        self._octets = octets
        self._part = part
        self.position = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._octets) - self.position

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
            if index == self.left:
                raise self.error(f"{field} varint is cut off after {index} bytes")
            octet = self._octets[self.position + index]
            number |= (octet & 0x7F) << (7 * index)
            if octet < 0x80:
                if number >= _VARINT_LIMIT:
                    raise self.error(f"{field} varint exceeds 32 bits")
                self.position += index + 1
                return number
        raise self.error(f"{field} varint is longer than {_VARINT_BYTES} bytes")

    def span(self, length: int, field: str) -> bytes:
        """Read *length* bytes that a length field promised; -1, the format's null, is refused here."""
        if length == -1:
            raise self.error(f"{field} is null")
        if length < 0:
            raise self.error(f"{field} length {length} is negative")
        if length > self.left:
            raise self.error(f"{field} length {length} exceeds the {self.left} bytes left")
        return self._take(length)

    def string(self, field: str, *, compact: bool = False) -> bytes:
        """Read a string that may not be null: int16 length, or a varint of length + 1 when *compact*."""
        return self.span(self._length(field, 2, compact), field)

    def nullable_string(self, field: str, *, compact: bool = False) -> bytes | None:
        """Read a string that may be null."""
        length = self._length(field, 2, compact)
        return None if length == -1 else self.span(length, field)

    def blob(self, field: str, *, compact: bool = False) -> bytes:
        """Read bytes that may not be null: int32 length, or a varint of length + 1 when *compact*."""
        return self.span(self._length(field, 4, compact), field)

    def count(self, field: str, *, compact: bool = False) -> int:
        """Read the size of an array that may not be null; an element has at least one byte."""
        number = self._length(field, 4, compact)
        if number == -1:
            raise self.error(f"{field} is null")
        if number < 0:
            raise self.error(f"{field} length {number} is negative")
        if number > self.left:
            raise self.error(f"{field} length {number} exceeds the {self.left} bytes left")
        return number

    def tags(self) -> dict[int, slice]:
        """Skip the tagged fields that end a flexible struct; return the span of each one's bytes, by tag."""
        number = self.varint("tag count")
        if number > self.left:
            raise self.error(f"tag count {number} exceeds the {self.left} bytes left")
        return self.tagged_fields(number)

    def tagged_fields(self, number: int) -> dict[int, slice]:
        """Skip *number* tagged fields and return their spans; of a repeated tag the last one counts, as in Java."""
        found = {}
        for _ in range(number):
            tag = self.varint("tag")
            size = self.varint("tag size")
            self.span(size, "tagged field")
            found[tag] = slice(self.position - size, self.position)
        return found

    def _length(self, field: str, width: int, compact: bool) -> int:
        name = f"{field} length"
        return self.varint(name) - 1 if compact else self.integer(width, name)

    def _take(self, length: int) -> bytes:
        taken = self._octets[self.position : self.position + length]
        self.position += length
        return taken


def to_text(octets: bytes, part: str, field: str) -> str:
    """Return *octets* as text, NUL bytes included; anything but valid UTF-8 is an error."""
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        raise DecodeError(f"{part}: {field} is not valid UTF-8") from None
