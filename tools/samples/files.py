"""PNG, KITTI's flow, WAV and AVI, written with the standard library alone."""

import struct
import zlib


def _chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _filtered(row, above, step):
    """The row under the PNG filter that leaves the smallest differences: it compresses best."""
    left = bytes(step) + row[:-step]
    corner = bytes(step) + above[:-step]

    def paeth(a, b, c):
        pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
        return a if pa <= pb and pa <= pc else b if pb <= pc else c

    candidates = [
        (0, row),
        (1, bytes((x - a) & 255 for x, a in zip(row, left))),
        (2, bytes((x - b) & 255 for x, b in zip(row, above))),
        (4, bytes((x - paeth(a, b, c)) & 255 for x, a, b, c in zip(row, left, above, corner))),
    ]
    return min(candidates, key=lambda c: sum(min(x, 256 - x) for x in c[1]))


def _png(width, height, bits, rows):
    step = 3 * bits // 8
    above, data = bytes(step * width), bytearray()
    for row in rows:
        kind, filtered = _filtered(row, above, step)
        data.append(kind)
        data += filtered
        above = row
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(bytes(data), 9))
        + _chunk(b"IEND", b"")
    )


def png(picture):
    """picture: rows of (red, green, blue), each in [0, 1]"""

    def row_of(row):
        return bytes(min(255, max(0, int(c * 255 + 0.5))) for pixel in row for c in pixel)

    return _png(len(picture[0]), len(picture), 8, [row_of(row) for row in picture])


def kitti_flow(flow):
    """flow: rows of (right, down) in pixels, kept in steps of 1/64"""

    def row_of(row):
        values = [v for u, d in row for v in (round(u * 64) + 32768, round(d * 64) + 32768, 1)]
        return struct.pack(f">{len(values)}H", *values)

    return _png(len(flow[0]), len(flow), 16, [row_of(row) for row in flow])


def pcm(samples):
    """samples in [-1, 1] -> 16 bits each"""
    values = [min(32767, max(-32768, round(s * 32767))) for s in samples]
    return struct.pack(f"<{len(values)}h", *values)


def _riff(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def wav(samples, rate):
    header = struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16)
    return _riff(b"RIFF", b"WAVE" + _riff(b"fmt ", header) + _riff(b"data", pcm(samples)))


def avi(frames, frames_per_second, samples, rate):
    """Frames are PNG files of one size; after each comes its share of the sound."""
    width, height = struct.unpack(">II", frames[0][16:24])
    count, share = len(frames), rate // frames_per_second
    largest = max(map(len, frames))
    main = struct.pack(
        "<14I", 1000000 // frames_per_second, 0, 0, 0x110, count, 0, 2, largest, width, height,
        0, 0, 0, 0,
    )  # fmt: skip
    video = struct.pack("<4s4sIHHIIIIIIII4H", b"vids", b"MPNG", 0, 0, 0, 0, 1, frames_per_second,
                        0, count, largest, 0xFFFFFFFF, 0, 0, 0, width, height)  # fmt: skip
    picture = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 24, b"MPNG", 3 * width * height,
                          0, 0, 0, 0)  # fmt: skip
    audio = struct.pack("<4s4sIHHIIIIIIII4H", b"auds", b"\0" * 4, 0, 0, 0, 0, 2, 2 * rate, 0,
                        len(samples), 2 * share, 0xFFFFFFFF, 2, 0, 0, 0, 0)  # fmt: skip
    sound = struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16)
    movie, index = b"movi", b""
    for i, frame in enumerate(frames):
        for name, data in ((b"00dc", frame), (b"01wb", pcm(samples[i * share : (i + 1) * share]))):
            index += struct.pack("<4sIII", name, 0x10, len(movie), len(data))
            movie += _riff(name, data)
    streams = [
        _riff(b"LIST", b"strl" + _riff(b"strh", video) + _riff(b"strf", picture)),
        _riff(b"LIST", b"strl" + _riff(b"strh", audio) + _riff(b"strf", sound)),
    ]
    header = _riff(b"LIST", b"hdrl" + _riff(b"avih", main) + b"".join(streams))
    return _riff(b"RIFF", b"AVI " + header + _riff(b"LIST", movie) + _riff(b"idx1", index))
