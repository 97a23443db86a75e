from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from diverset.integrations.haystack import DiverseReranker

vectors = {"cats": [1.0, 0.2], "cats again": [1.0, 0.25], "dogs": [0.2, 1.0]}
store = InMemoryDocumentStore(embedding_similarity_function="cosine")
store.write_documents([Document(content=text, embedding=vector) for text, vector in vectors.items()])

pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=100, return_embedding=True))
pipeline.add_component("ranker", DiverseReranker(top_k=10))
pipeline.connect("retriever.documents", "ranker.documents")

# `top_k`, `diversity`, `keep`, `given` and others may come with the run.
asked = {"retriever": {"query_embedding": [1.0, 0.1]}, "ranker": {"query": "pets", "top_k": 2}}
found = pipeline.run(asked)["ranker"]["documents"]
print([document.content for document in found])  # ['cats', 'dogs']
print(sorted(found[0].meta))  # ['diverset_gain', 'diverset_kept']
