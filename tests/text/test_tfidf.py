"""Tf-idf against its formula, written out with dictionaries."""

import math
from collections import Counter

import numpy as np
import pytest

from diverset.text import words
from diverset.text.tfidf import count_terms, idf, tfidf, unit_rows

TEXTS = ["Red wine and red roses", "White wine", "", "Roses are red, roses are sweet", "Crème brûlée and wine"]


def by_the_formula(texts, sublinear, floor, keeps):
    lists = [Counter(words(text)) for text in texts]
    holders = Counter(term for found in lists for term in found)
    rows = []
    for found in lists:
        row = {}
        for term, count in found.items():
            if keeps(holders[term]):
                tf = 1.0 + math.log(count) if sublinear else count
                row[term] = tf * (math.log((1 + len(texts)) / holders[term]) + floor)
        length = math.sqrt(sum(value**2 for value in row.values())) or 1.0
        rows.append({term: value / length for term, value in row.items()})
    return rows


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("floor", [0.0, 1.0])
@pytest.mark.parametrize(("least", "share"), [(1, 1.0), (2, 1.0), (1, 0.4)])
def test_vectors_are_those_of_the_formula(sublinear, floor, least, share):
    matrix, terms = tfidf(
        iter(TEXTS), sublinear=sublinear, floor=floor, min_documents=least, max_share=share
    )  # read once
    expected = by_the_formula(TEXTS, sublinear, floor, lambda held: least <= held <= share * len(TEXTS))
    assert len(terms) == len(set(terms)) == matrix.shape[1]
    assert set(terms) == {term for row in expected for term in row}
    for row, wanted in zip(matrix.toarray(), expected, strict=True):
        np.testing.assert_allclose(row, [wanted.get(term, 0.0) for term in terms], atol=1e-7)


def test_texts_without_words_give_rows_of_zeros():
    matrix, terms = tfidf(["", "?!"])
    assert matrix.shape == (2, 0)
    assert terms == []
    assert tfidf([])[0].shape == (0, 0)


def test_counting_in_given_columns_leaves_other_terms_out():
    counts, terms = count_terms([["b", "a", "b"], ["c"], []], ["a", "b"])
    assert counts.toarray().tolist() == [[1, 2], [0, 0], [0, 0]]
    assert terms == ["a", "b"]
    np.testing.assert_allclose(idf(counts), [math.log(4)] * 2)


def test_unit_rows_leave_their_counts_alone():
    counts, _ = count_terms([["a", "b"], ["b", "c"], ["c"]])
    before = counts.toarray()
    unit_rows(counts, np.array([1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(counts.toarray(), before)
