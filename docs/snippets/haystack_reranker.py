from haystack import Document, Pipeline

from diverset.integrations.haystack import DiverseReranker

vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.05], "dogs": [0.0, 1.0]}
documents = [Document(content=text, embedding=vector) for text, vector in vectors.items()]

pipeline = Pipeline()
pipeline.add_component("rerank", DiverseReranker(top_k=2, diversity=0.5))
found = pipeline.run({"rerank": {"documents": documents}})
print([document.content for document in found["rerank"]["documents"]])  # ['cats', 'dogs']
