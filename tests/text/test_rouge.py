"""ROUGE against the scores of the Perl program, stored for our own texts and, where it is installed, computed anew."""

import json
import time
from importlib import import_module

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError
from diverset.text.rouge import _in_common_subsequences, rouge
from diverset.text.words import stem
from perl_rouge import SETTINGS, TRUTH, find_rouge, perl_scores, random_pairs

STORED = json.loads(TRUTH.read_text(encoding="utf-8"))


def differences(pairs, truth, **settings):
    """Cases in which our scores are more than the Perl program's rounding away from its scores."""
    worst = 0.0
    for (summary, references), expected in zip(pairs, truth, strict=True):
        ours = rouge(summary, references, **settings)
        assert set(ours) == set(expected)
        for metric, (recall, precision, f) in expected.items():
            score = ours[metric]
            worst = max(worst, abs(score.recall - recall), abs(score.precision - precision), abs(score.f - f))
    return worst


@pytest.mark.parametrize("stored", STORED["truth"], ids=lambda stored: str(stored["settings"]))
def test_scores_are_those_of_the_perl_program(stored):
    # It rounds precision and recall to five digits before it takes their mean.
    assert differences(STORED["pairs"], stored["scores"], **stored["settings"]) < 2.1e-5


@pytest.mark.parametrize(
    "wrong",
    [lambda word: stem(word) if len(word) > 3 else word, stem, lambda word: word],
    ids=["no irregular words", "short words stemmed", "no stems"],
)
def test_the_stored_scores_tell_stemmers_apart(monkeypatch, wrong):
    monkeypatch.setattr(import_module("diverset.text.rouge"), "base_form", wrong)
    assert differences(STORED["pairs"], STORED["truth"][0]["scores"]) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_scores_against_the_perl_program_itself(settings):
    home = find_rouge()
    if home is None:
        pytest.skip("ROUGE-1.5.5.pl is not installed; set ROUGE_HOME (the package tilse brings it)")
    pairs = random_pairs(300, seed=7)
    assert differences(pairs, perl_scores(home, pairs, **settings), **settings) < 2.1e-5


def test_a_text_against_itself_is_perfect():
    text = "One sentence here.\nAnd another one, with more words."
    assert all(score == (1.0, 1.0, 1.0) for score in rouge(text, text).values())
    assert rouge(text.split("\n"), [text.split("\n")]) == rouge(text, text)


def test_no_common_word_scores_nothing():
    assert all(score == (0.0, 0.0, 0.0) for score in rouge("red green", ["blue yellow"]).values())


def test_metrics_can_be_chosen():
    assert list(rouge("a", "a", metrics=["rouge-2"])) == ["rouge-2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["rouge-3"]}, "rouge-3"),
        ({"combine": "worst"}, "worst"),
        ({"max_words": 3, "max_bytes": 3}, "not both"),
        ({"max_words": 0}, "0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(DiversetError, match=message):
        rouge("a", ["a"], **arguments)


def test_references_are_needed():
    with pytest.raises(DiversetError, match="no references"):
        dv.text.rouge("a", [])


def common_subsequence(first, second):
    """Positions in the first list of one longest common subsequence, by the textbook's table."""
    table = [[0] * (len(second) + 1)]
    for word in first:
        above, row = table[-1], [0]
        for j, other in enumerate(second):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
        table.append(row)
    # Of several, the one that is found from the end, skipping words of the first list where it can.
    i, j, found = len(first), len(second), set()
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            found.add(i)
        elif table[i - 1][j] >= table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found


def test_subsequences_by_bits_are_those_of_the_table():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        letters = list("abcdef")[: rng.integers(1, 7)]
        references, ours = (
            [rng.choice(kinds, rng.integers(0, 10)).tolist() for _ in range(rng.integers(0, 5))]
            for kinds in (letters, [*letters, "z"])
        )
        expected = []
        for reference in references:
            matched = set().union(*(common_subsequence(reference, sentence) for sentence in ours))
            expected += [reference[i] for i in sorted(matched)]
        assert _in_common_subsequences(references, ours) == expected


@pytest.mark.parametrize("separator", [" ", "\n", " word\n"])
def test_texts_of_64_kilobytes_take_less_than_a_second(separator):
    rng = np.random.default_rng(1)
    texts = [separator.join(f"w{i}" for i in rng.integers(0, 2000, 12_000))[: 1 << 16] for _ in range(2)]
    started = time.process_time()
    rouge(*texts)
    assert time.process_time() - started < 1.0
