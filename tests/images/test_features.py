"""A folder of images: what is read, what is skipped, and that the same folder gives the same features."""

import sys

import numpy as np
import pytest
from PIL import Image

import diverset as dv
from diverset.errors import DiversetError, MissingExtraError
from diverset.images import FEATURES, FeatureCache, center_crop, extract, features, find_images, read_image
from images_for_tests import save, scene

CHEAP = ("color-8", "color-64-center", "sift-256", "gist-center")


@pytest.fixture
def folder(tmp_path):
    """Five images, two of them in a folder below, of several formats."""
    root = tmp_path / "pictures"
    save(root / "b.png", scene(1))
    save(root / "a.jpg", scene(0), quality=90)
    save(root / "z" / "1.webp", scene(2), lossless=True)
    save(root / "z" / "2.bmp", scene(3, 300, 120))
    save(root / "C.JPEG", scene(4, 90, 310), quality=90)
    (root / "notes.txt").write_text("not an image")
    save(root / ".hidden.png", scene(5))
    save(root / ".git" / "x.png", scene(5))
    return root


@pytest.fixture
def unreadable(folder):
    """The same folder with five files that are no images, though their names say so."""
    whole = (folder / "a.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.png").write_bytes(b"")
    (folder / "page.jpg").write_text("<html>404</html>")
    (folder / "broken.png").write_bytes((folder / "b.png").read_bytes()[:200])
    (folder / "nowhere.gif").symlink_to(folder / "gone.gif")
    return folder


def test_images_are_found_in_the_order_of_their_paths(folder):
    assert [path.relative_to(folder).as_posix() for path in find_images(folder)] == [
        "C.JPEG",
        "a.jpg",
        "b.png",
        "z/1.webp",
        "z/2.bmp",
    ]


def test_all_ten_features_have_rows_of_length_one(folder):
    found = extract(folder)
    assert list(found) == list(FEATURES)
    assert len(FEATURES) == 10
    widths = [8, 64, 256, 512, 960] * 2
    assert [found[name].shape for name in FEATURES] == [(5, width) for width in widths]
    for name in FEATURES:
        assert np.linalg.norm(found[name], axis=1) == pytest.approx(np.ones(5))
        assert found[name].min() >= 0.0
    assert found.sizes.tolist() == [[310, 90], [200, 160], [200, 160], [200, 160], [120, 300]]
    assert found.skipped == []


def test_features_are_those_of_the_functions(folder):
    found = extract(folder, ["color-64", "gist-center", "color-8-center"])
    picture = read_image(found.paths[4])
    assert picture.shape == (250, 100, 3)  # 300 pixels became 250
    for name, vector in (
        ("color-64", dv.images.color_histogram(picture, 64)),
        ("gist-center", dv.images.gist(center_crop(picture))),
        ("color-8-center", dv.images.color_histogram(center_crop(picture), 8)),
    ):
        assert found[name][4] == pytest.approx(vector / np.linalg.norm(vector), abs=1e-15)
    assert center_crop(picture).shape == (125, 50, 3)


def test_words_of_the_middle_are_those_of_whole_images(folder):
    found = extract(folder, ["sift-256-center"])
    assert list(found) == ["sift-256-center"]
    words = dv.images.learn_vocabulary([dv.images.sift_descriptors(read_image(p)) for p in found.paths], 256)
    assert (found.vocabularies[256].centers == words.centers).all()
    counts = words.histogram(dv.images.sift_descriptors(center_crop(read_image(found.paths[1]))))
    assert found["sift-256-center"][1] == pytest.approx(counts / np.linalg.norm(counts))
    other = extract([folder / "a.jpg"], ["sift-256-center"], vocabularies=found.vocabularies)
    assert other["sift-256-center"][0] == pytest.approx(found["sift-256-center"][1])


def test_unreadable_files_are_reported_and_skipped(unreadable):
    found = extract(unreadable, CHEAP)
    assert [path.name for path in found.paths] == ["C.JPEG", "a.jpg", "b.png", "1.webp", "2.bmp"]
    reasons = {one.path.name: one.reason for one in found.skipped}
    assert sorted(reasons) == ["broken.png", "cut.jpg", "empty.png", "nowhere.gif", "page.jpg"]
    assert reasons["empty.png"] == "the file is empty"
    assert reasons["page.jpg"] == "the file is not an image"
    assert "damaged" in reasons["cut.jpg"]
    assert "damaged" in reasons["broken.png"]
    assert reasons["nowhere.gif"] == "there is no such file"
    for name in CHEAP:
        assert len(found[name]) == 5
    with pytest.raises(DiversetError, match=r"cannot read .*page.jpg: the file is not an image"):
        read_image(unreadable / "page.jpg")


def test_nothing_but_unreadable_files(tmp_path):
    (tmp_path / "a.jpg").write_text("no")
    found = extract(tmp_path)
    assert found.paths == []
    assert found["gist"].shape == (0, 960)
    assert found.sizes.shape == (0, 2)


def test_the_same_folder_gives_the_same_features(folder, tmp_path):
    first = extract(folder, CHEAP, n_jobs=1)
    for again in (
        extract(folder, CHEAP, n_jobs=3),
        extract(folder, CHEAP, cache=tmp_path / "cache"),
        extract(folder, CHEAP, cache=tmp_path / "cache"),
        extract(find_images(folder), CHEAP, progress=True),
    ):
        assert again.paths == first.paths
        for name in CHEAP:
            assert (again[name] == first[name]).all()


def test_what_is_kept_is_not_computed_again(folder, tmp_path, monkeypatch):
    first = extract(folder, CHEAP, cache=tmp_path / "cache")

    def refuse(*arguments, **options):
        raise AssertionError("computed again")

    monkeypatch.setattr(features, "decode_image", refuse)
    monkeypatch.setattr(features, "learn_vocabulary", refuse)
    again = extract(folder, CHEAP, cache=FeatureCache(tmp_path / "cache"))
    assert all((again[name] == first[name]).all() for name in CHEAP)
    assert again.sizes.tolist() == first.sizes.tolist()
    # A new name for the same contents is the same image; other settings are another one.
    (folder / "a.jpg").rename(folder / "y.jpg")
    assert len(extract(folder, ["color-8"], cache=tmp_path / "cache").paths) == 5
    with pytest.raises(AssertionError, match="computed again"):
        extract(folder, CHEAP, cache=tmp_path / "cache", longest=100)
    with pytest.raises(AssertionError, match="computed again"):
        extract(folder, ["gist"], cache=tmp_path / "cache")


def test_changed_contents_are_another_image(folder, tmp_path):
    before = extract(folder, ["color-64"], cache=tmp_path / "cache")
    save(folder / "b.png", scene(77))
    after = extract(folder, ["color-64"], cache=tmp_path / "cache")
    same = (before["color-64"] == after["color-64"]).all(axis=1)
    assert same.tolist() == [True, True, False, True, True]


def spoil_end(data):
    return data[:-100]


def spoil_middle(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def spoil_all(data):
    return b""


def other_arrays(data):
    return b"x" * len(data)


@pytest.mark.parametrize("spoil", [spoil_end, spoil_middle, spoil_all, other_arrays])
def test_damaged_entries_are_noticed_and_rebuilt(folder, tmp_path, spoil):
    cache = tmp_path / "cache"
    first = extract(folder, CHEAP, cache=cache)
    entries = sorted(cache.rglob("*.cache"))
    assert len(entries) == 6  # five images and their words
    sound = [entry.read_bytes() for entry in entries]
    for entry, data in zip(entries, sound, strict=True):
        entry.write_bytes(spoil(data))
    again = extract(folder, CHEAP, cache=cache)
    assert again.damaged == 6
    assert all((again[name] == first[name]).all() for name in CHEAP)
    assert extract(folder, CHEAP, cache=cache).damaged == 0


def test_a_cache_that_cannot_be_written_costs_a_remark(folder, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    found = extract(folder, ["color-8"], cache=tmp_path / "file")
    assert len(found.paths) == 5
    assert len(found.notes) == 1
    assert "working without a cache" in found.notes[0]


def test_further_features_join_what_is_kept(folder, tmp_path):
    extract(folder, ["color-8"], cache=tmp_path / "cache")
    both = extract(folder, ["color-8", "gist"], cache=tmp_path / "cache")
    plain = extract(folder, ["color-8", "gist"])
    assert all((both[name] == plain[name]).all() for name in both)
    assert len(list((tmp_path / "cache").rglob("*.cache"))) == 5


def test_images_that_say_nothing_are_alike(tmp_path):
    for i, value in enumerate((30, 200)):
        save(tmp_path / f"{i}.png", np.full((80, 80, 3), value, dtype=np.uint8))
    save(tmp_path / "2.png", scene(0))
    found = extract(tmp_path, ["sift-256", "gist", "color-8"])
    assert found["sift-256"][0] == pytest.approx(np.full(256, 1 / 16))
    assert found["sift-256"][0] @ found["sift-256"][1] == pytest.approx(1.0)
    assert np.isfinite(found["gist"]).all()


def test_pictures_of_every_kind_become_red_green_and_blue(tmp_path):
    picture = scene(0, 60, 80)
    grey = np.asarray(Image.fromarray(picture).convert("L"))
    save(tmp_path / "grey.png", grey)
    assert (read_image(tmp_path / "grey.png") == grey[:, :, None]).all()
    save(tmp_path / "deep.png", grey.astype(np.uint16) * 200)
    deep = read_image(tmp_path / "deep.png")[:, :, 0].astype(int)
    stretched = (grey.astype(float) - grey.min()) / np.ptp(grey) * 255
    assert np.abs(deep - stretched).max() <= 1
    clear = np.dstack([picture, np.zeros((60, 80), dtype=np.uint8)])
    clear[:30, :, 3] = 255
    save(tmp_path / "clear.png", clear)
    found = read_image(tmp_path / "clear.png")
    assert (found[:30] == picture[:30]).all()
    assert (found[30:] == 255).all()
    Image.fromarray(picture).quantize(16).save(tmp_path / "few.gif")
    assert read_image(tmp_path / "few.gif").shape == (60, 80, 3)
    frames = [Image.fromarray(scene(seed, 60, 80)) for seed in (0, 1)]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    assert read_image(tmp_path / "film.gif").shape == (60, 80, 3)
    Image.fromarray(picture).convert("CMYK").save(tmp_path / "ink.jpg")
    assert read_image(tmp_path / "ink.jpg").shape == (60, 80, 3)


def test_a_camera_held_upright_is_turned(tmp_path):
    picture = scene(0, 60, 80)
    exif = Image.Exif()
    exif[0x0112] = 6  # the right side is up
    Image.fromarray(picture).save(tmp_path / "upright.png", exif=exif)
    assert (read_image(tmp_path / "upright.png") == np.rot90(picture, -1)).all()
    assert extract([tmp_path / "upright.png"], ["color-8"]).sizes.tolist() == [[60, 80]]


def test_large_photographs_are_read_without_a_word(tmp_path, monkeypatch):
    save(tmp_path / "large.png", np.zeros((300, 400), dtype=np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)  # so that this one is beyond Pillow's warning
    assert read_image(tmp_path / "large.png").shape == (188, 250, 3)
    assert extract(tmp_path, ["color-8"]).skipped == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda root: extract(root / "nothing"), "nothing is not a folder"),
        (lambda root: extract([]), "there are no images"),
        (lambda root: extract(root, ["colour"]), "there is no feature 'colour'; choose among color-8"),
        (lambda root: extract(root, []), "no features are named"),
        (lambda root: extract(root, n_jobs=0), "n_jobs"),
        (lambda root: find_images(root / "empty"), r"empty holds no images; looked for \.jpg"),
        (lambda root: read_image(root / "gone.jpg"), r"cannot read .*gone.jpg: there is no such file"),
        (lambda root: read_image(root / "a.jpg", longest=0), "longest"),
    ],
)
def test_bad_requests_are_refused(folder, call, message):
    (folder / "empty").mkdir()
    with pytest.raises(DiversetError, match=message):
        call(folder)


@pytest.mark.parametrize(
    ("module", "name"), [("cv2", "OpenCV"), ("PIL.Image", "Pillow"), ("sklearn.cluster", "scikit")]
)
def test_a_missing_extra_names_the_command(folder, monkeypatch, module, name):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'{name}.*pip install "diverset\[images\]"'):
        extract(folder, ["color-8", "sift-256"])
