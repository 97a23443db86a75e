"""The results of all verbs: rows, frames, dictionaries, files and views in a notebook."""

import csv
import json

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError
from diverset.threads import example_news
from images_for_tests import save, scene

BAD = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One result of each verb."""
    rng = np.random.default_rng(0)
    X, quality = rng.normal(size=(30, 4)), rng.random(30)
    folder = tmp_path_factory.mktemp("images")
    for i in range(4):
        save(folder / f"{i}.png", scene(i, 60, 80))
    texts = [f"The old bridge fell on Tuesday {BAD}. Nobody was hurt.", "The mayor spoke. The bridge was old."]
    return {
        "select": dv.select(X, 4, quality=quality),
        "compare": dv.compare(X, 4, quality=quality, methods=["dpp", "mmr"], dials=[0.5]),
        "summarize": dv.summarize(texts, 12, n_draws=50),
        "find_threads": dv.find_threads(example_news()[0], k=3),
        "pick_images": dv.pick_images(folder, 2, cache=False),
    }


VERBS = ["select", "compare", "summarize", "find_threads", "pick_images"]


@pytest.mark.parametrize("verb", VERBS)
def test_rows_frames_and_dictionaries_agree(results, verb):
    result = results[verb]
    rows = result.records()
    assert rows
    for library in ("pandas", "polars"):
        pytest.importorskip(library)
        frame = result.to_frame(library)
        assert list(frame.columns) == list(rows[0])
        assert len(frame) == len(rows)
    with pytest.raises(DiversetError, match="library is 'arrow'; choose pandas or polars"):
        result.to_frame("arrow")
    whole = json.loads(result.as_text(".json"))
    assert whole == json.loads(json.dumps(result.to_dict(), default=str))
    assert "notes" in whole
    assert str(result)


@pytest.mark.parametrize("verb", VERBS)
def test_every_format_is_written(results, verb, tmp_path):
    result = results[verb]
    for kind in result.formats:
        if kind == ".parquet":
            pytest.importorskip("pyarrow")
        result.save(tmp_path / f"out{kind}")
        assert (tmp_path / f"out{kind}").stat().st_size > 10
    with (tmp_path / "out.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(result.records())
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == len(result.records())
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(DiversetError, match=r"cannot write .*out\.xls: its name must end in"):
        result.save(tmp_path / "out.xls")


@pytest.mark.parametrize("verb", VERBS)
def test_a_notebook_shows_text_as_text(results, verb):
    shown = results[verb]._repr_html_()
    assert shown.count("<tr>") >= len(results[verb].records())
    assert "<script" not in shown


def test_labels_of_a_frame_are_in_the_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(4), index=list("abcd"))
    rows = dv.select(frame, 2).records()
    assert [row["label"] for row in rows] == [list("abcd")[row["index"]] for row in rows]
