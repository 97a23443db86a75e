"""Every reader of files on damaged ones: what is read is read, the rest gets a documented error; nothing hangs."""

import contextlib
import json
import os
import zlib
from importlib.resources import files

import numpy as np
import pytest

import diverset as dv
from diverset.apps.dated import CorpusSource, read_corpus
from diverset.apps.documents import read_documents
from diverset.apps.tables import load_npy, read_table, write_table
from diverset.errors import DiversetError
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
    read_corpus(CorpusSource(str(path)), lambda _: None)


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
}


@pytest.mark.parametrize("extension", READERS)
def test_damaged_files_are_read_or_refused(extension, tmp_path):
    write, read = READERS[extension]
    if extension == "parquet":
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
