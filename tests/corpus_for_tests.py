"""10,000 documents with known vectors, and what a search among them should find."""

import numpy as np

N, D = 10_000, 24
TEXTS = [f"document {i}" for i in range(N)]
SOURCES = [f"paper {i % 7}" for i in range(N)]
_rng = np.random.default_rng(0)
# Topics with near-copies in each, so that the nearest documents repeat each other.
_topics = _rng.normal(size=(400, D))
VECTORS = _topics[_rng.integers(400, size=N)] + 0.15 * _rng.normal(size=(N, D))
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
QUERIES = {
    "first question": VECTORS[5] + 0.1 * _rng.normal(size=D),
    "second question": VECTORS[77] + 0.1 * _rng.normal(size=D),
    "third question": VECTORS[5] + 0.1 * _rng.normal(size=D),
}
_POSITIONS = {text: i for i, text in enumerate(TEXTS)}


def vector_of(text):
    """The vector of a document, as a list."""
    return VECTORS[_POSITIONS[text]].tolist()


def nearest(query, n, allowed=None):
    """Positions of the n documents of largest cosine to a query, best first, and these cosines."""
    q = QUERIES[query]
    cosines = VECTORS @ q / np.linalg.norm(q)
    order = np.argsort(-cosines, kind="stable")
    if allowed is not None:
        order = np.array([i for i in order if allowed(i)])
    return order[:n], cosines[order[:n]]


class Counter:
    """Counts what an embedding model is asked."""

    def __init__(self):
        self.documents, self.queries, self.calls = [], [], 0

    def document_vectors(self, texts):
        self.calls += 1
        self.documents.extend(texts)
        return [vector_of(text) for text in texts]

    def query_vector(self, text):
        self.queries.append(text)
        return QUERIES[text].tolist()

    def clear(self):
        self.__init__()
