"""Draws small pictures and sounds, and writes what other libraries make of them, into this folder.

    python3 -m venv v && v/bin/pip install pillow==13.0.0 opencv-python-headless==5.0.0.93
    v/bin/python tests/golden/media/make.py

`X_to_WxH.png` names are of resizing: method_library_source_to_WxH.png. Odd formats have their
pixels, as Pillow sees them, beside them in NAME.expected.png.
"""

import pathlib
import struct

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageOps

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(7)


def save(name, pixels):
    Image.fromarray(pixels).save(HERE / name, optimize=True)


def shapes(width, height):
    """A gradient with lettering-like strokes, a checkerboard and noise in it."""
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([255 * x / (width - 1), 255 * y / (height - 1), 255 - 127 * x / width], -1)
    pixels = pixels.astype(np.uint8)
    half = height // 2
    checker = ((x + y) % 2 * 255).astype(np.uint8)
    pixels[:half, : width // 3] = checker[:half, : width // 3, None]
    noise = RNG.integers(0, 256, (height - half, width // 3, 3), dtype=np.uint8)
    pixels[half:, : width // 3] = noise
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    draw.ellipse((width // 2, 4, width - 5, half), fill=(250, 40, 30), outline=(0, 0, 0))
    draw.line((width // 3, height - 3, width - 2, half), fill=(255, 255, 255), width=2)
    draw.line((width // 2, half, width // 2, height), fill=(0, 0, 0), width=1)
    return np.asarray(picture)


def resizing():
    opencv = {"cubic": cv2.INTER_CUBIC, "linear": cv2.INTER_LINEAR}
    pillow = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
    source = shapes(53, 37)
    save("shapes_53x37.png", source)
    for size in [(20, 16), (26, 18), (64, 48), (53, 11), (101, 37), (7, 90), (1, 1)]:
        ending = "53x37_to_{}x{}.png".format(*size)
        for name, flag in opencv.items():
            save(f"{name}_opencv_{ending}", cv2.resize(source, size, interpolation=flag))
        for name, flag in pillow.items():
            save(f"{name}_pillow_{ending}", np.asarray(Image.fromarray(source).resize(size, flag)))


def evaluation():
    """ImageNet's evaluation: a centre crop, then bicubic, as the two references do it."""
    source = shapes(97, 71)
    save("photo_97x71.png", source)
    height, width = source.shape[:2]
    side = int(224 / 256 * min(height, width))
    top, left = (height - side + 1) // 2, (width - side + 1) // 2
    crop = source[top : top + side, left : left + side]
    save("photo_cubic_opencv_32x32.png", cv2.resize(crop, (32, 32), interpolation=cv2.INTER_CUBIC))
    resized = Image.fromarray(crop).resize((32, 32), Image.Resampling.BICUBIC)
    save("photo_bicubic_pillow_32x32.png", np.asarray(resized))


def odd_pngs():
    source = Image.fromarray(shapes(19, 13))
    grey = (np.arange(13 * 19, dtype=np.uint32) * 265 % 65536).astype(np.uint16).reshape(13, 19)
    Image.fromarray(grey).save(HERE / "grey16.png")
    save("grey16.expected.png", (grey >> 8).astype(np.uint8))

    palette = source.quantize(7)
    palette.info["transparency"] = 2
    palette.save(HERE / "palette.png", transparency=2)
    palette.convert("RGBA").save(HERE / "palette.expected.png")
    source.convert("1").save(HERE / "one_bit.png")
    Image.open(HERE / "one_bit.png").convert("RGB").save(HERE / "one_bit.expected.png")

    alpha = source.convert("L")
    alpha = Image.merge("LA", (alpha, alpha.transpose(Image.Transpose.ROTATE_180)))
    alpha.save(HERE / "grey_alpha.png")
    alpha.convert("RGBA").save(HERE / "grey_alpha.expected.png")

    # OpenCV writes RGB of 16 bits; neither library writes interlaced.
    wide = np.asarray(source).astype(np.uint16) * 257 + 3
    cv2.imwrite(str(HERE / "rgb16.png"), wide[:, :, ::-1])
    save("rgb16.expected.png", (wide >> 8).astype(np.uint8))
    (HERE / "interlaced.png").write_bytes(interlaced(np.asarray(source)))
    save("interlaced.expected.png", np.asarray(source))
    check = np.asarray(Image.open(HERE / "interlaced.png").convert("RGB"))
    assert (check == np.asarray(source)).all()


def interlaced(pixels):
    """An RGB PNG in Adam7's seven passes."""
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b""
    for x, y, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                         (1, 0, 2, 2), (0, 1, 1, 2)]:
        for row in pixels[y::dy, x::dx]:
            rows += b"\0" + row.tobytes()
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def jpegs():
    source = Image.fromarray(shapes(48, 32)).resize((24, 16))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        name = f"orientation{orientation}"
        source.save(HERE / f"{name}.jpg", quality=90, exif=exif)
        turned = ImageOps.exif_transpose(Image.open(HERE / f"{name}.jpg"))
        turned.save(HERE / f"{name}.expected.png")
    source.convert("L").save(HERE / "grey.jpg")
    Image.open(HERE / "grey.jpg").convert("RGB").save(HERE / "grey.expected.png")
    source.save(HERE / "progressive.jpg", progressive=True, subsampling=0)
    Image.open(HERE / "progressive.jpg").save(HERE / "progressive.expected.png")
    source.convert("CMYK").save(HERE / "cmyk.jpg")


def wav(name, samples, code, bits, extensible=False):
    """samples [S, channels], already of the type to be stored."""
    data = samples if isinstance(samples, bytes) else samples.tobytes()
    channels = 2
    block = channels * bits // 8
    tail = b""
    if extensible:
        tail = struct.pack("<HHIH", 22, bits, 3, code) + bytes.fromhex("000000001000800000aa00389b71")
        code = 0xFFFE
    fmt = struct.pack("<HHIIHH", code, channels, 8000, 8000 * block, block, bits) + tail
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(fmt)) + fmt
    body += b"LIST" + struct.pack("<I", 4) + b"INFO"
    body += b"data" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    (HERE / name).write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)


def wavs():
    """A tone on the left and its half on the right, 20 samples, in every sample type."""
    t = np.arange(20) / 8000
    tone = np.stack([np.sin(2 * np.pi * 440 * t), 0.5 * np.sin(2 * np.pi * 440 * t)], 1) * 0.9
    wav("pcm8.wav", np.round(tone * 127 + 128).astype(np.uint8), 1, 8)
    wav("pcm16.wav", np.round(tone * 32767).astype("<i2"), 1, 16)
    whole = np.round(tone * (2**23 - 1)).astype("<i4")
    wav("pcm24.wav", whole.view(np.uint8).reshape(20, 2, 4)[:, :, :3].tobytes(), 1, 24)
    wav("pcm32.wav", np.round(tone * (2**31 - 1)).astype("<i4"), 1, 32)
    wav("float32.wav", tone.astype("<f4"), 3, 32)
    wav("float64.wav", tone.astype("<f8"), 3, 64)
    wav("extensible24.wav", whole.view(np.uint8).reshape(20, 2, 4)[:, :, :3].tobytes(), 1, 24, True)
    wav("adpcm.wav", b"\0" * 40, 2, 4)


resizing()
evaluation()
odd_pngs()
jpegs()
wavs()
