"""ROUGE 1.5.5 in Perl, where it is installed, and texts to try it on.

``ROUGE_HOME`` names the folder that holds ``ROUGE-1.5.5.pl`` and ``data/WordNet-2.0.exc.db``. The package ``tilse``
brings both along (``pyrouge/tools/ROUGE-1.5.5``); Perl needs XML::Parser (``libxml-parser-perl``).

Run as a script, it writes ``text/rouge_truth.json``: the Perl program's scores for the texts below.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

TRUTH = Path(__file__).parent / "text" / "rouge_truth.json"
NAMES = {"ROUGE-1": "rouge-1", "ROUGE-2": "rouge-2", "ROUGE-L": "rouge-l", "ROUGE-SU4": "rouge-su4"}
LINE = re.compile(r"^\S+ (ROUGE-\w+) Eval (\d+)\S* R:([\d.]+) P:([\d.]+) F:([\d.]+)$")
# Irregular forms, long suffixes, hyphens, numbers, letters beyond ASCII, all in one small vocabulary.
VOCABULARY = """
the a of and to in was were is it its they his for on with that children women went gone better best worse mice geese
running ran runs agreement agreements argument government governmental basement accidental commissioner compassionate
technology technologies assembly apology possibly probably hopping hoped relational conditional rational nation's
ex-president non-smoking twenty-one mother-in-law U.S. 3.5 2,000 1990s $40 50% don't it's O'Brien café naïve Zürich
skies sky dying lying flies analyses crises stimuli criteria knives wolves thought taught brought seen saw leaves yes
year years yellow yielding employed employment deployment decisively division decision happiness happily quickly
adjustable adjustment replacement irritant effective bowdlerize triplicate formalize electrical hopefulness goodness
controlling rolled falling hissing fizzed failing filing news politics buses gas gases this thus
""".split()


def find_rouge():
    """Folder of the Perl program, or None."""
    places = [os.environ.get("ROUGE_HOME", "")]
    spec = find_spec("pyrouge")
    if spec is not None:
        places += [f"{place}/tools/ROUGE-1.5.5" for place in spec.submodule_search_locations or ()]
    for place in places:
        if place and shutil.which("perl") and (Path(place) / "ROUGE-1.5.5.pl").exists():
            return Path(place)
    return None


def perl_scores(home, pairs, *, stemming=True, combine="average", max_words=None, max_bytes=None):
    """Scores by the Perl program: for every pair of a text and references, the values R, P, F of each metric."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lines = []
        for t, (summary, references) in enumerate(pairs):
            names = []
            for r, text in enumerate([summary, *references]):
                path = root / f"{t}.{r}.txt"
                path.write_text(text if isinstance(text, str) else "\n".join(text), encoding="utf-8", newline="")
                names.append(str(path))
            lines.append(" ".join(names))
        (root / "list").write_text("\n".join(lines) + "\n")
        command = ["perl", str(home / "ROUGE-1.5.5.pl"), "-e", str(home / "data"), "-n", "2", "-2", "4", "-u", "-d"]
        command += ["-r", "1", "-f", "B" if combine == "best" else "A", *(["-m"] if stemming else [])]
        if max_words is not None:
            command += ["-l", str(max_words)]
        if max_bytes is not None:
            command += ["-b", str(max_bytes)]
        run = subprocess.run([*command, "-z", "SPL", str(root / "list"), "1"], capture_output=True, text=True, cwd=home)
        assert run.returncode == 0, run.stderr
    scores = [{} for _ in pairs]
    for line in run.stdout.splitlines():
        if (found := LINE.match(line)) and found[1] in NAMES:
            scores[int(found[2]) - 1][NAMES[found[1]]] = [float(found[i]) for i in (3, 4, 5)]
    return scores


def random_text(rng, n_sentences):
    """Sentences of the vocabulary, one per line."""
    sentences = []
    for _ in range(n_sentences):
        chosen = rng.choices(VOCABULARY, k=rng.randint(1, 18))
        sentences.append(" ".join(chosen).capitalize() + rng.choice([".", "!", "?", '."', ""]))
    return "\n".join(sentences)


def random_pairs(n, seed):
    """Summaries with one to four references; a part of each summary is in its references."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        lines = random_text(rng, rng.randint(1, 5)).split("\n")
        references = []
        for _ in range(rng.randint(1, 4)):
            own = random_text(rng, rng.randint(1, 4)).split("\n")
            references.append("\n".join(rng.sample(own + lines[:2], k=len(own) + len(lines[:2]))))
        pairs.append(("\n".join(lines), references))
    return pairs


EDGES = [
    ("", ["A reference."]),
    ("word", ["word"]),
    ("word", ["word word word"]),
    ("A summary.", ["", "A summary."]),
    ("...", ["!!!"]),
    ("  indented  line  \n\n another ", ["indented line another", " indented\n line"]),
    ("--- 42 - 42-43 ---", ["42 43 42"]),
    ("日本語 only", ["日本語 only this"]),
]
SETTINGS = [
    {},
    {"stemming": False},
    {"combine": "best"},
    {"max_words": 12},
    {"max_bytes": 60},
    {"max_bytes": 25, "combine": "best"},
]


def main():
    home = find_rouge()
    if home is None:
        sys.exit("ROUGE-1.5.5.pl is not here; set ROUGE_HOME")
    pairs = EDGES + random_pairs(40, seed=1)
    truth = [{"settings": s, "scores": perl_scores(home, pairs, **s)} for s in SETTINGS]
    TRUTH.write_text(
        json.dumps({"pairs": pairs, "truth": truth}, indent=0, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
