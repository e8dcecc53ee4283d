"""SPDY/3.1 frames, as far as Kubernetes' port-forward uses them. No I/O.

`kubectl port-forward` multiplexes its connections with SPDY, inside of a WebSocket. Streams are
opened by the client (SYN_STREAM with headers), answered (SYN_REPLY), carry data, and are finished
by either side with a flag. Header blocks share one compression state for each direction, so each
must be decompressed, in order. Flow control and settings are used by no client and passed over.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

_FIN = 0x01
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
_VERSION = 3
_HEAD = struct.Struct(">II")
_NUMBER = struct.Struct(">I")
INTERNAL_ERROR = 6
"""The status of a RST_STREAM."""

# The dictionary of the SPDY/3 specification: names of headers, each after its length, and a text of
# common values. Both sides start their compression with it.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language "
    "accept-ranges age allow authorization cache-control connection content-base content-encoding "
    "content-language content-length content-location content-md5 content-range content-type date "
    "etag expect expires from host if-match if-modified-since if-none-match if-range "
    "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_MORE_WORDS = ["200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive"]
_VALUES = (
    "1001012012022052063003023033043053063074024054064074084094104114124134144154164175025"
    "04505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 "
    "Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, "
    "Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,"
    "sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = (
    b"".join(
        _NUMBER.pack(len(word)) + word.encode()
        for word in [*_WORDS.split(), *_MORE_WORDS, "origin"]
    )
    + _VALUES.encode()
)


class SpdyError(Exception):
    """The bytes are no SPDY/3 frames."""


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """The client opened a stream."""

    stream: int
    headers: Mapping[str, str]
    finished: bool


@dataclass(frozen=True, slots=True)
class DataReceived:
    """Data on a stream; `finished`: the client sends no more on it."""

    stream: int
    data: bytes
    finished: bool


@dataclass(frozen=True, slots=True)
class StreamReset:
    """The client gave a stream up."""

    stream: int


@dataclass(frozen=True, slots=True)
class PingReceived:
    """A ping, to be sent back as it is."""

    number: int


Event: TypeAlias = StreamOpened | DataReceived | StreamReset | PingReceived


class SpdyConnection:
    """The server's side of one connection: takes frames apart and makes them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events in what is complete by now; the rest waits for more."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._buffer)
            flags, length = second >> 24, second & 0xFFFFFF
            if len(self._buffer) < _HEAD.size + length:
                return
            payload = bytes(self._buffer[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            if first & 0x80000000:
                yield from self._control(first, flags, payload)
            else:
                yield DataReceived(first, payload, bool(flags & _FIN))

    def _control(self, first: int, flags: int, payload: bytes) -> Iterator[Event]:
        version, kind = (first >> 16) & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise SpdyError(f"SPDY version {version}")
        try:
            if kind == _SYN_STREAM:
                (stream,) = _NUMBER.unpack_from(payload)
                headers = self._headers(payload[10:])
                yield StreamOpened(stream & 0x7FFFFFFF, headers, bool(flags & _FIN))
            elif kind == _RST_STREAM:
                yield StreamReset(_NUMBER.unpack_from(payload)[0] & 0x7FFFFFFF)
            elif kind == _PING:
                yield PingReceived(_NUMBER.unpack_from(payload)[0])
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise SpdyError(f"frame of type {kind}: {error}") from error

    def _headers(self, block: bytes) -> dict[str, str]:
        plain = self._inflate.decompress(block)
        (count,) = _NUMBER.unpack_from(plain)
        texts, at = [], _NUMBER.size
        for _ in range(2 * count):
            (length,) = _NUMBER.unpack_from(plain, at)
            at += _NUMBER.size
            texts.append(plain[at : at + length].decode())
            at += length
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def reply(self, stream: int) -> bytes:
        """Accept a stream, without headers."""
        block = self._deflate.compress(_NUMBER.pack(0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control(_SYN_REPLY, _NUMBER.pack(stream) + block)

    def data(self, stream: int, data: bytes, *, finished: bool = False) -> bytes:
        """Data on a stream; with `finished` the last."""
        return _HEAD.pack(stream, (_FIN if finished else 0) << 24 | len(data)) + data

    def reset(self, stream: int) -> bytes:
        """Give a stream up."""
        return _control(_RST_STREAM, _HEAD.pack(stream, INTERNAL_ERROR))

    def ping(self, number: int) -> bytes:
        """A ping."""
        return _control(_PING, _NUMBER.pack(number))


def _control(kind: int, payload: bytes, flags: int = 0) -> bytes:
    first = 0x80000000 | _VERSION << 16 | kind
    return _HEAD.pack(first, flags << 24 | len(payload)) + payload
