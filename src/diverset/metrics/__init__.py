"""How diverse a set is, and how well a ranking covers what people may have meant.

From similarities alone: :func:`log_volume`, :func:`mean_pairwise_similarity`, :func:`intra_list_diversity`,
:func:`vendi_score`. From judgements of which item is about which subtopic: :func:`subtopic_recall`,
:func:`alpha_ndcg`, :func:`err_ia`, :func:`precision_ia`, and the plain :func:`ndcg` and :func:`precision`.
:func:`read_qrels` reads judgements in the format of TREC. :func:`diverset.compare` puts several methods side by side.
"""

from diverset.metrics.intents import alpha_ndcg, err_ia, ndcg, precision, precision_ia, read_qrels, subtopic_recall
from diverset.metrics.similarity import intra_list_diversity, log_volume, mean_pairwise_similarity, vendi_score

__all__ = [
    "alpha_ndcg",
    "err_ia",
    "intra_list_diversity",
    "log_volume",
    "mean_pairwise_similarity",
    "ndcg",
    "precision",
    "precision_ia",
    "read_qrels",
    "subtopic_recall",
    "vendi_score",
]
