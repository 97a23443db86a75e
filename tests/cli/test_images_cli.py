"""``diverset images`` as a new user would run it."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from diverset.errors import DiversetError
from diverset.images import extract
from diverset.images.pick import choose_images
from images_for_tests import save, scene

KINDS = {"red": (0.9, 0.1, 0.1), "green": (0.1, 0.8, 0.2), "blue": (0.1, 0.2, 0.9)}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty directory, 100 columns wide, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *arguments, stdin=None: CliRunner().invoke(app, list(arguments), input=stdin)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Three kinds of pictures, four of each; one has two near copies, smaller and in another format."""
    root = tmp_path_factory.mktemp("holiday")
    for k, (kind, colour) in enumerate(KINDS.items()):
        for i in range(4):
            # Of one kind the colour and much of the layout are the same.
            mixed = 0.6 * scene(100 + k, colour=colour) + 0.4 * scene(10 * k + i, colour=colour)
            save(root / kind / f"{i}.png", mixed.astype(np.uint8))
    original = Image.open(root / "red" / "1.png")
    original.resize((150, 120)).save(root / "red" / "small.png")
    original.save(root / "red" / "copy.jpg", quality=70)
    return root


@pytest.fixture
def folder(source, tmp_path):
    (tmp_path / "holiday").symlink_to(source)
    return "holiday"


def picked(result):
    return re.findall(r"^ *\d+  (\S+)", result.stdout, re.MULTILINE)


def test_every_kind_is_picked_and_copies_collapse(run, folder, tmp_path):
    result = run("images", folder, "-k", "3", "-o", "picks.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    with (tmp_path / "picks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {row["file"].split("/")[0] for row in rows} == set(KINDS)
    assert sum(int(row["stands_for"]) for row in rows) == 14 - 3
    assert picked(result) == [row["file"] for row in rows]
    assert "3 of 14 images, 2 of them near-duplicates of others" in " ".join(result.stdout.split())
    again = run("images", folder, "-k", "3", "--no-cache")
    assert picked(again) == picked(result)


def test_only_the_best_of_near_copies_is_picked(source):
    found = extract(source, ["color-64", "sift-512", "gist"])
    names = [path.relative_to(source).as_posix() for path in found.paths]
    original, small, jpeg = (names.index(name) for name in ("red/1.png", "red/small.png", "red/copy.jpg"))
    everything = choose_images(found, 14)
    assert len(everything.picks) == 12
    # The largest stands for the others, and of two equally large ones the first; by scores, the best does.
    assert everything.copy_of[[small, jpeg]].tolist() == [original, original]
    scores = np.zeros(14)
    scores[small] = 1.0
    by_score = choose_images(found, 3, scores=scores)
    assert by_score.copy_of[[original, small, jpeg]].tolist() == [small] * 3
    assert by_score.picks[0] == small
    assert {original, jpeg} <= set(by_score.stands_for[small])
    assert [len(images) for images in choose_images(found, 1).stands_for.values()] == [13]
    assert len(choose_images(found, 14, threshold=1.0).picks) > 12


def test_equal_images_and_a_single_one(tmp_path):
    for name in ("a.png", "b.png"):
        save(tmp_path / name, scene(0, 60, 60))
    both = choose_images(extract(tmp_path, ["color-64", "sift-512", "gist"]), 5)
    assert both.picks.tolist() == [0]
    assert both.stands_for == {0: [1]}
    alone = choose_images(extract(tmp_path / "a.png", ["color-64", "sift-512", "gist"]), 5, scores=np.array([3.0]))
    assert alone.picks.tolist() == [0]
    assert alone.stands_for == {0: []}


def test_followers_are_given_to_the_most_similar_pick(source):
    found = extract(source, ["color-64", "sift-512", "gist"])
    choice = choose_images(found, 3)
    kinds = [path.parent.name for path in found.paths]
    for pick, others in choice.stands_for.items():
        assert {kinds[i] for i in others} <= {kinds[pick]}
    every = sorted([*choice.stands_for, *(i for others in choice.stands_for.values() for i in others)])
    assert every == list(range(14))


def test_scores_decide_who_is_a_candidate_and_how_good(run, folder, tmp_path):
    lines = ["file,score", "red/0.png,0.2", "0.png,0.9"]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    result = run("images", folder, "--query-scores", "scores.csv")
    assert result.exit_code == 2
    assert "0.png is the name of 3 images" in result.stderr
    names = [f"{kind}/{i}.png" for kind in KINDS for i in range(4)]
    scores = [7.0 if name.startswith("red") else 1.0 for name in names]
    rows = "\n".join(f"{name},{score}" for name, score in zip(names, scores, strict=True))
    (tmp_path / "scores.csv").write_text(f"path,relevance\n{rows}\ngone.png,3\n")
    top = run("images", folder, "-k", "4", "--query-scores", "scores.csv", "--diversity", "0")
    assert top.exit_code == 0, top.output
    assert sorted(picked(top)) == [f"red/{i}.png" for i in range(4)]
    assert "1 image of scores.csv not found: gone.png" in top.stderr
    assert "2 images without a score left out" in top.stderr
    spread = run("images", folder, "-k", "4", "--query-scores", "scores.csv", "--diversity", "1", "-o", "o.jsonl")
    assert {name.split("/")[0] for name in picked(spread)} == set(KINDS)
    records = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert {record["score"] for record in records} == {7.0, 1.0}


def test_unreadable_images_are_named(run, tmp_path):
    save(tmp_path / "f" / "good.png", scene(0))
    (tmp_path / "f" / "bad.jpg").write_text("<html>")
    result = run("images", "f", "-o", "sheet.html")
    assert result.exit_code == 0, result.output
    assert "1 image could not be read: bad.jpg (the file is not an image)" in result.stderr
    assert "12 images asked for, and only 1 image can be picked; the others are copies" in result.stderr
    page = (tmp_path / "sheet.html").read_text()
    assert "bad.jpg (the file is not an image)" in page


def test_damaged_entries_of_the_cache_are_reported(run, tmp_path):
    save(tmp_path / "f" / "good.png", scene(0))
    assert run("images", "f").exit_code == 0
    entries = list((tmp_path / "cache" / "diverset" / "images").rglob("*.cache"))
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-5])
    assert "2 damaged entries of the cache were computed again" in run("images", "f").stderr
    assert run("images", "f").stderr.count("damaged") == 0
    assert run("images", "f", "--cache", "here").exit_code == 0
    assert len(list((tmp_path / "here").rglob("*.cache"))) == 2


def test_a_draw_follows_its_seed(run, folder):
    one, two, three = (run("images", folder, "-k", "4", "--method", "sample", "--seed", s) for s in ("1", "1", "2"))
    assert picked(one) == picked(two)
    assert picked(one) != picked(three)


class Page(HTMLParser):
    """What the page holds: images by class, addresses, texts."""

    def __init__(self, text):
        super().__init__()
        self.large, self.small, self.sources, self.tags = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        if tag == "img":
            (self.large if values.get("class") == "large" else self.small).append(values["alt"])
            self.sources.append(values["src"])


def test_the_page_holds_all_it_needs(run, folder, tmp_path):
    result = run("images", folder, "-k", "3", "-o", "sheet.html")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.large == picked(result)
    assert len(page.small) == 11
    assert sum(name.endswith(" (near-duplicate)") for name in page.small) == 2
    assert all(source.startswith("data:image/jpeg;base64,") for source in page.sources)
    assert "script" not in page.tags
    assert not re.search(r"""(src|href)=["']?(https?:|//|file:)""", text)
    assert re.search(r"<title>holiday\d*: 3 of 14 images</title>", text)


def test_names_are_escaped(run, tmp_path):
    name = '<img src=x onerror=alert(1)>&"q".png'
    save(tmp_path / "f" / name, scene(0))
    save(tmp_path / "f" / "b.png", scene(1))
    assert run("images", "f", "-k", "1", "-o", "sheet.html").exit_code == 0
    page = Page((tmp_path / "sheet.html").read_text(encoding="utf-8"))
    assert sorted(page.large + page.small) == sorted([name, "b.png"])
    assert len(page.sources) == 2


@pytest.mark.parametrize("output", ["sheet.png", "sheet.jpg"])
def test_the_picture_shows_picks_and_what_they_stand_for(run, folder, tmp_path, output):
    result = run("images", folder, "-k", "3", "-o", output)
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / output) as sheet:
        pixels = np.asarray(sheet.convert("RGB")).astype(int)
    tile = pixels[76 : 76 + 270]
    # Three tiles side by side: each is mostly of the colour of its kind.
    strongest = [tile[:, 24 + at * 384 : 24 + at * 384 + 360].mean(axis=(0, 1)).argmax() for at in range(3)]
    assert sorted(strongest) == [0, 1, 2]
    assert (pixels[:10] == 255).all() or output == "sheet.jpg"
    small = pixels[76 + 270 + 36 : 76 + 270 + 36 + 52, 24 : 24 + 360]
    assert (np.abs(small - 255).sum(axis=2) > 60).mean() > 0.3


def test_long_names_are_cut_in_the_middle(tmp_path):
    from PIL import ImageDraw, ImageFont

    from diverset.pages.sheet import _fitted

    draw, font = ImageDraw.Draw(Image.new("RGB", (10, 10))), ImageFont.load_default(17)
    name = "a" * 60 + "0042.jpg"
    cut = _fitted(draw, name, font, 200)
    assert cut.startswith("aaa")
    assert cut.endswith("42.jpg")
    assert draw.textlength(cut, font=font) <= 200
    assert _fitted(draw, "short.jpg", font, 200) == "short.jpg"
    assert _fitted(draw, name, font, 1) == "..."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is not a folder"),
        (["empty"], "empty holds no images"),
        (["broken"], "none of the 1 images in broken could be read"),
        (["f", "-k", "0"], "k = 0; it must be at least 1"),
        (["f", "-o", "sheet.gif"], "its name must end in .png"),
        (["f", "-o", "none/sheet.png"], "not an existing directory"),
        (["f", "--near", "2"], "threshold is 2"),
        (["f", "--diversity", "3"], "diversity is 3"),
        (["f", "--query-scores", "gone.csv"], "there is no such file"),
        (["f", "--query-scores", "odd.csv"], "needs a column of files"),
        (["f", "--query-scores", "other.csv"], "names none of the 1 images"),
        (["f", "--query-scores", "twice.csv"], "has a second score"),
        (["f", "--query-scores", "words.csv"], "needs a finite number"),
    ],
)
def test_bad_input_is_answered_in_one_line(run, tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.png").write_bytes(b"")
    save(tmp_path / "f" / "a.png", scene(0, 40, 40))
    for name, text in {
        "odd": "x,y\n1,2\n",
        "other": "file,score\nzz.png,2\n",
        "twice": "file,score\na.png,2\na.png,3\n",
        "words": "file,score\na.png,good\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    result = run("images", *arguments, "--no-cache")
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if "error" in line]
    assert len(lines) == 1
    assert message in lines[0]


def test_help_shows_an_example(run):
    result = run("images", "--help")
    assert result.exit_code == 0
    assert "diverset images holiday/ -k 12 -o sheet.html" in " ".join(result.stdout.split())


def test_scores_from_standard_input(run, folder):
    result = run("images", folder, "--query-scores", "-", stdin="file,score\ncopy.jpg,1\nred/0.png,2\n")
    assert result.exit_code == 0, result.output
    assert sorted(picked(result)) == ["red/0.png", "red/copy.jpg"]


def test_the_call_picks_what_the_command_picks(run, folder, source):
    found = dv.pick_images(source, 3)
    assert [path.relative_to(source).as_posix() for path in found.files] == picked(run("images", folder, "-k", "3"))
    assert len(found) == 3
    assert str(found).startswith("3 of 14 images")
    entries = found.to_dict()["picks"]
    assert [source / entry["file"] for entry in entries] == found.files
    assert sum(len(entry["stands_for"]) for entry in entries) == 11
    files = sorted(source.glob("*/0.png"))
    own = dv.pick_images(files, 2, embeddings=np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]]), threshold=1.0)
    assert {path.parent.name for path in own.files} >= {files[2].parent.name}
    best = dv.pick_images(files, 1, scores={str(path): float(i == 1) for i, path in enumerate(files)})
    assert best.files == [files[1]]
    with pytest.raises(DiversetError, match="embeddings has 1 rows for 3 images"):
        dv.pick_images(files, 2, embeddings=[[1.0]])
    with pytest.raises(DiversetError, match="scores names none of the 3 images"):
        dv.pick_images(files, 2, scores={"elsewhere.png": 1.0})


def test_limits_and_encodings_reach_the_files(run, tmp_path):
    for i in range(3):
        save(tmp_path / "f" / f"é{i}.png", scene(i, 40, 40 + 20 * i))
    (tmp_path / "scores.csv").write_bytes("file,score\né0.png,1\né2.png,3\n".encode("cp437"))
    command = ["images", "f", "-k", "2", "--no-cache", "--query-scores", "scores.csv"]
    result = run(*command, "--encoding", "cp437", "-o", "sheet.html")
    assert result.exit_code == 0, result.output
    assert sorted(picked(result)) == ["é0.png", "é2.png"]
    small = run(*command, "--encoding", "cp437", "--max-pixels", "2000")
    assert picked(small) == ["é0.png"]
    assert "é2.png" in small.stderr
    assert len(dv.pick_images(tmp_path / "f", 3, max_pixels=2000, cache=False)) == 1
