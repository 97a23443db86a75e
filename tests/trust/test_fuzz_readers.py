"""Every reader of files on damaged ones: what is read is read, the rest gets a documented error; nothing hangs."""

import contextlib
import gzip
import json
import os
import re
import zlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import diverset as dv
from diverset.cli.candidates import read_ids
from diverset.errors import DiversetError
from diverset.io.binary import load_npy
from diverset.io.documents import read_documents
from diverset.io.tables import read_table, write_table
from diverset.threads.corpus import read_corpus as read_dated
from trust.mutations import mutated

#: Damaged files a reader; raised by DIVERSET_FUZZ for a long run.
TRIES = 4 * int(os.environ.get("DIVERSET_FUZZ", "25"))

COLUMNS = {
    "name": ["a", 'b "quoted", with comma', "ü\nline"],
    "score": [1, 2.5, None],
    "vector": [[1, 2], [3, 4], [5, 6]],
}


def write_csv(path):
    write_table(path, {key: COLUMNS[key] for key in ("name", "score")})


def write_tsv(path):
    path.write_text('name\tscore\na\t1\n"b\tc"\t2.5\nd\t\n', encoding="utf-8")


def write_all(path):
    write_table(path, COLUMNS)


def write_npy(path):
    np.save(path, np.arange(12.0).reshape(4, 3))


def write_model(path):
    dv.learn.save_model(dv.learn.LowRankKernel(rank=2, n_epochs=1, rng=0).fit([[0, 1], [2]], n_items=4), path)


def read_whole(path):
    """Read a table and ask of it what commands ask."""
    table = read_table(str(path))
    for name in table.columns:
        table.is_numeric(name)
        table.texts(name)
        for ask in (table.numbers, table.vectors):
            with contextlib.suppress(DiversetError):
                ask(name)


def read_model(path):
    model = dv.learn.load_model(path)
    assert model.score([[0]]) == model.score([[0]])  # and no nan


def write_corpus(path):
    rows = [
        {"id": f"n{i}", "date": f"2031-01-{i + 1:02d}", "title": f"Title {i}", "text": "Some words."} for i in range(4)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def read_threads_corpus(path):
    read_dated(str(path))


def write_page(path):
    path.write_text(
        "<html><body><h1>Title</h1><p>One sentence. Another, &amp; more.</p><script>1</script></body></html>"
    )


def write_markdown(path):
    path.write_text("# Title\n\nOne *sentence*. [Another](x).\n\n- a list\n\n```\ncode\n```\n")


def read_texts(path):
    read_documents([str(path)])


def write_summarizer(path):
    path.write_bytes((files("diverset") / "data" / "summarizer.json").read_bytes())


def write_picture(path):
    pytest.importorskip("PIL.Image").fromarray(np.arange(300, dtype=np.uint8).reshape(10, 10, 3)).save(path)


def whole_or_refused(found, expected):
    """A cache answers with what was stored, or not at all."""
    if found is None:
        raise DiversetError("damaged")
    assert found == expected


def write_features(path):
    cache = dv.images.FeatureCache(path.parent / "cache")
    cache.store("key", {"x": np.arange(6.0)})
    path.write_bytes(cache._path(cache.folder, "key").read_bytes())


def read_features(path):
    cache = dv.images.FeatureCache(path.parent / "cache")
    cache._path(cache.folder, "key").write_bytes(path.read_bytes())
    found = {name: array.tolist() for name, array in (cache.load("key") or {}).items()}
    whole_or_refused(found or None, {"x": np.arange(6.0).tolist()})


def read_maps(path):
    dv.poses.read_score_maps({"a": path}, dv.poses.PoseGrid(2, 2, 1, 3.0))


def read_blocks(path):
    """Read in blocks, some of them, and pick."""
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    with dask.config.set(scheduler="synchronous"), np.errstate(all="ignore"):
        lazy = dv.distributed.read(path, None if path.suffix == ".npy" else "vector", block_bytes=16)
        if lazy.shape[0] * lazy.shape[1] < 10**6:
            dv.select(lazy, 2, similarity="dot")


def write_qrels(path):
    path.write_text("51 1 d7 2\n51 2 d7 0\n52 1 d9 1\n", encoding="utf-8")


def read_id_file(path):
    read_ids(str(path), "name", "--given")


def write_news(path):
    path.write_text("id,date,title,text\na,2020-01-13,T,The mill burned.\nb,14 Jan 2020,U,It was old.\n")


def write_json(path):
    path.write_text('[{"date": "2020-01-13", "text": "The mill."}, {"date": 1580110000, "sentences": ["It", "was"]}]')


def write_compressed(path):
    path.write_bytes(gzip.compress(b'{"id": 1, "date": "13/01/2020", "text": "The mill burned."}\n'))


def read_both(path):
    read_table(path)
    read_texts(path)
    read_dated(path)


READERS = {
    "csv": (write_csv, read_whole),
    "jsonl": (write_all, read_whole),
    "parquet": (write_all, read_whole),
    "npy": (write_npy, load_npy),
    "dvm": (write_model, read_model),
    "corpus.jsonl": (write_corpus, read_threads_corpus),
    "html": (write_page, read_texts),
    "md": (write_markdown, read_texts),
    "summarizer.json": (write_summarizer, dv.text.Summarizer.load),
    "png": (write_picture, lambda path: dv.images.read_image(path)),
    "jpg": (write_picture, lambda path: dv.images.read_image(path)),
    "tsv": (write_tsv, read_whole),
    "json": (write_json, read_both),
    "jsonl.gz": (write_compressed, read_both),
    "news.csv": (write_news, read_both),
    "txt": (write_markdown, read_texts),
    "ids.csv": (write_csv, read_id_file),
    "qrels": (write_qrels, dv.metrics.read_qrels),
    "maps.png": (write_picture, read_maps),
    "features.npz": (write_features, read_features),
    "blocks.npy": (write_npy, read_blocks),
    "blocks.parquet": (write_all, read_blocks),
}

#: Modules that open files of users, and the readers above that go through them.
OPENED_BY = {
    "cli/candidates.py": "ids.csv",
    "io/files.py": "corpus.jsonl",
    "io/documents.py": "html",
    "io/binary.py": "npy",
    "io/tables.py": "csv",
    "distributed/storage.py": "blocks.parquet",
    "io/cache.py": "features.npz",
    "images/features.py": "png",
    "images/pick.py": "csv",
    "images/reading.py": "png",
    "learn/files.py": "dvm",
    "metrics/intents.py": "qrels",
    "poses/grid.py": "maps.png",
    "text/quality.py": "summarizer.json",
    "text/summarizer.py": "summarizer.json",
}
#: Those that open files of the package alone, or what the system tells about itself.
OWN_FILES = {
    "cli/console.py",
    "cli/group.py",
    "cli/cities.py",
    "cli/demo.py",
    "threads/corpus.py",
    "numerics/validation.py",
    "text/words.py",
}
OPENING = re.compile(
    r"\.read_text\(|\.read_bytes\(|\bopen\(|np\.load\(|json\.loads?\(|ParquetFile\(|\bread_table\(|open_file\("
)


def test_every_module_that_opens_files_is_fuzzed():
    root = Path(dv.__file__).parent
    found = {
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if OPENING.search(file.read_text(encoding="utf-8"))
    }
    assert found - OWN_FILES - set(OPENED_BY) == set()
    assert set(OPENED_BY.values()) <= set(READERS)


@pytest.mark.parametrize("extension", READERS)
def test_damaged_files_are_read_or_refused(extension, tmp_path):
    write, read = READERS[extension]
    if "parquet" in extension:
        pytest.importorskip("pyarrow")
    path = tmp_path / f"file.{extension}"
    write(path)
    read(path)  # it was whole
    whole = path.read_bytes()
    rng = np.random.default_rng(zlib.crc32(extension.encode()))
    refused = []
    for _ in range(TRIES):
        raw = mutated(whole, rng)
        path.write_bytes(raw)
        try:
            read(path)
        except DiversetError as error:
            refused.append(str(error))
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} for the bytes {raw!r}") from error
    assert refused
    assert all(message.strip() for message in refused)


def test_a_hostile_array_file_is_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "owned"),))

    np.save(tmp_path / "evil.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    with pytest.raises(DiversetError):
        load_npy(tmp_path / "evil.npy")
    with pytest.raises(DiversetError):
        read_table(str(tmp_path / "evil.npy"))
    assert not (tmp_path / "owned").exists()


def test_a_table_of_nothing_but_a_quote_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text('"')
    with pytest.raises(DiversetError, match="no header"):
        read_table(str(tmp_path / "x.csv"))


def test_a_summarizer_of_infinite_weight_is_refused(tmp_path):
    whole = (files("diverset") / "data" / "summarizer.json").read_text(encoding="utf-8")
    changed = whole.replace('"late": 1.0', '"late": 1e999')
    assert changed != whole
    (tmp_path / "x.json").write_text(changed, encoding="utf-8")
    with pytest.raises(DiversetError):
        dv.text.Summarizer.load(tmp_path / "x.json")
