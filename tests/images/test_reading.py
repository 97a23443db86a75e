"""Pictures made to harm: bombs, other formats under the name of an image, files that are no files."""

import os
import struct
import subprocess
import sys
import threading
import warnings
import zlib

import numpy as np
import pytest

pytest.importorskip("cv2")
Image = pytest.importorskip("PIL.Image")

from diverset.errors import DiversetError  # noqa: E402
from diverset.images import FeatureCache, extract, read_image  # noqa: E402
from diverset.images.pick import pick_images  # noqa: E402
from diverset.images.reading import PixelBudget  # noqa: E402


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(path, width, height, *, bits=16, colour=0):
    """A black PNG written row by row, so that making it takes no memory."""
    row = bytes(1 + width * bits // 8 * {0: 1, 2: 3, 6: 4}[colour])
    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def picture(path, seed=0):
    noise = np.random.default_rng(seed).integers(0, 255, size=(60, 80, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)


def test_a_bomb_is_named_and_skipped_and_the_limit_can_be_raised(tmp_path, monkeypatch):
    png(tmp_path / "bomb.png", 13_300, 13_400)
    picture(tmp_path / "a.png")
    found = extract(tmp_path, ["color-8"])
    assert [path.name for path in found.paths] == ["a.png"]
    (skipped,) = found.skipped
    assert skipped.path.name == "bomb.png"
    assert "and the limit is 50,000,000; set DIVERSET_MAX_PIXELS, or max_pixels in Python" in skipped.reason
    png(tmp_path / "bomb.png", 300, 400)
    with pytest.raises(DiversetError, match=r"bomb\.png: decoding it takes memory for 120,0\d\d pixels"):
        read_image(tmp_path / "bomb.png", max_pixels=100_000)
    assert read_image(tmp_path / "bomb.png", max_pixels=130_000).shape == (250, 188, 3)
    monkeypatch.setenv("DIVERSET_MAX_PIXELS", "100000")
    assert [one.path.name for one in extract(tmp_path, ["color-8"]).skipped] == ["bomb.png"]
    monkeypatch.setenv("DIVERSET_MAX_PIXELS", "many")
    with pytest.raises(DiversetError, match="must be a number of pixels"):
        read_image(tmp_path / "bomb.png")


@pytest.mark.parametrize("name", ["a.png", "a.jpg"])
def test_a_header_that_promises_more_than_any_memory_is_refused_at_once(tmp_path, name):
    header = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 6, 0, 0, 0)
    (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b""))
    with pytest.raises(DiversetError, match="the limit is"):
        read_image(tmp_path / name)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the peak of memory from /proc")
def test_memory_stays_below_one_gigabyte_for_any_folder(tmp_path):
    for i, (bits, colour) in enumerate([(16, 0), (8, 6), (16, 2), (16, 0), (8, 6), (16, 6)]):
        png(tmp_path / f"{i}.png", 7000, 7000, bits=bits, colour=colour)  # just within the limit
    Image.new("P", (7000, 7000)).save(tmp_path / "p.gif", transparency=0)
    Image.new("RGB", (7000, 7000)).save(tmp_path / "p.webp", lossless=True)
    Image.new("RGB", (7000, 6500)).save(tmp_path / "p.jpg", progressive=True, subsampling=0)
    code = (
        "import sys\nfrom diverset.images import extract\n"
        "found = extract(sys.argv[1], ['color-8'], n_jobs=8)\n"
        # ru_maxrss would be at least that of the process that runs the tests.
        "print(len(found.paths), open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    count, kilobytes = map(int, done.stdout.split())
    assert count == 9
    assert kilobytes < 1_000_000


def test_threads_share_the_pixels():
    budget, at_once, most = PixelBudget(10), [], []

    def work():
        for _ in range(20):
            with budget.take(4):
                at_once.append(4)
                most.append(sum(at_once))
                at_once.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert max(most) <= 8
    assert budget._free == 10


def test_a_failure_gives_the_pixels_back(tmp_path):
    budget = PixelBudget(10)
    with pytest.raises(ZeroDivisionError), budget.take(10):
        raise ZeroDivisionError
    assert budget._free == 10


@pytest.mark.parametrize(
    "data",
    [
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n%%EndComments\nshowpage\n",
        b"\xc5\xd0\xd3\xc6" + bytes(40),  # EPS with a header for DOS
        b"P6 10 10 255 " + bytes(300),
        b"%PDF-1.4\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_other_formats_are_not_opened_under_the_name_of_an_image(tmp_path, monkeypatch, data):
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **options: pytest.fail("a program was started"))
    for name in ("a.png", "a.jpg", "a.tif"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DiversetError, match="the file is not an image"):
            read_image(tmp_path / name)


def test_a_pipe_and_a_device_in_a_folder_are_skipped(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    picture(tmp_path / "a.png")
    found = extract(tmp_path, ["color-8"])
    assert [path.name for path in found.paths] == ["a.png"]
    assert {one.path.name: one.reason for one in found.skipped} == {
        "pipe.png": "it is a pipe; only regular files are read",
        "zero.png": "it is a device; only regular files are read",
    }


def test_large_images_are_reduced_alike_in_every_mode(tmp_path):
    ramp = np.tile(np.linspace(0, 255, 2000).astype(np.uint8), (1600, 1))
    grey = Image.fromarray(ramp)
    plain = None
    for name, image in {
        "rgb.png": grey.convert("RGB"),
        "l.png": grey,
        "rgba.png": grey.convert("RGBA"),
        "i16.png": Image.fromarray(ramp.astype(np.uint16) * 257),
        "p.gif": grey.convert("P"),
        "la.png": grey.convert("LA"),
        "f.tif": Image.fromarray(ramp.astype(np.float32)),
    }.items():
        image.save(tmp_path / name)
        read = read_image(tmp_path / name).astype(int)
        plain = read if plain is None else plain
        assert read.shape == (200, 250, 3)
        assert np.abs(read - plain).max() <= 2, name


def test_a_forged_entry_of_the_cache_is_computed_again(tmp_path):
    (tmp_path / "f").mkdir()
    picture(tmp_path / "f" / "a.png")
    cache = FeatureCache(tmp_path / "cache")
    first = extract(tmp_path / "f", ["color-8", "gist"], cache=cache)
    for forged in (
        {"color-8": np.zeros(9)}, {"gist": np.full(960, np.nan)}, {"size": np.array([-1, 2])},
        {"color-8": np.array("x")}, {"other": np.zeros(3)},
    ):  # fmt: skip
        key = None

        class Forged(FeatureCache):
            def load(self, wanted, forged=forged):
                found = super().load(wanted)
                return None if found is None else {**found, **forged}

        again = extract(tmp_path / "f", ["color-8", "gist"], cache=Forged(tmp_path / "cache"))
        assert again.damaged == 1, key
        for name in first:
            assert (again[name] == first[name]).all()


def test_reading_in_threads_leaves_the_warning_filters_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # so that Pillow would warn of every image
    for i in range(6):
        picture(tmp_path / f"{i}.png", i)
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inside = list(warnings.filters)
        threads = [threading.Thread(target=extract, args=(tmp_path, ["color-8"])) for _ in range(6)]
        for thread in threads:
            thread.start()
            assert warnings.filters == inside
        for thread in threads:
            thread.join()
        assert warnings.filters == inside
        assert extract(tmp_path, ["color-8"]).skipped == []
    assert warnings.filters == before


def test_learning_words_in_threads_leaves_thread_counts_alone():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    from diverset.images import learn_vocabulary

    def counts():
        return [(pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()]

    descriptors = [np.random.default_rng(0).integers(0, 255, size=(400, 128), dtype=np.uint8)]
    learn_vocabulary(descriptors, 16)  # loads its libraries
    with threadpoolctl.threadpool_limits(3):
        before = counts()
        threads = [threading.Thread(target=learn_vocabulary, args=(descriptors, 16)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts() == before


def test_users_own_vectors_come_as_array_npy_or_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    folder = tmp_path / "f"
    folder.mkdir()
    for i in range(6):
        picture(folder / f"{i}.png", i)
    vectors = np.random.default_rng(1).standard_normal((6, 4))
    expected = [path.name for path in pick_images(folder, 3, embeddings=vectors).files]
    np.save(tmp_path / "v.npy", vectors)
    assert [path.name for path in pick_images(folder, 3, embeddings=tmp_path / "v.npy").files] == expected
    order = [3, 1, 0, 5, 4, 2]
    table = pa.table({"file": [f"{i}.png" for i in order], "vector": [vectors[i].tolist() for i in order]})
    pyarrow.parquet.write_table(table, tmp_path / "v.parquet")
    assert [path.name for path in pick_images(folder, 3, embeddings=str(tmp_path / "v.parquet")).files] == expected
    flat = pa.table({"name": [f"{i}.png" for i in order], **{f"e{j}": vectors[order, j] for j in range(4)}})
    pyarrow.parquet.write_table(flat, tmp_path / "v.parquet")
    assert [path.name for path in pick_images(folder, 3, embeddings=tmp_path / "v.parquet").files] == expected
    few = pa.table({"file": ["0.png", "1.png", "gone.png"], "vector": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]})
    pyarrow.parquet.write_table(few, tmp_path / "v.parquet")
    with pytest.raises(DiversetError, match=r"v\.parquet has no vector for 4 of the 6 images, 2\.png among them"):
        pick_images(folder, 3, embeddings=tmp_path / "v.parquet")
    with pytest.raises(DiversetError, match="5 rows for 6 images"):
        pick_images(folder, 3, embeddings=vectors[:5])
