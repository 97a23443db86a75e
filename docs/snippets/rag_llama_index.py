from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import TextNode

from diverset.integrations.llama_index import DiverseRetriever

vectors = {"cats": [1.0, 0.2], "cats again": [1.0, 0.25], "dogs": [0.2, 1.0]}
nodes = [TextNode(text=text, embedding=vector) for text, vector in vectors.items()]
index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=2))  # the model embeds the query alone

retriever = DiverseRetriever(index, similarity_top_k=2, fetch_k=3)  # RetrieverQueryEngine.from_args(retriever)
found = retriever.retrieve("pets")
print(sorted(node.text[:4] for node in found))  # ['cats', 'dogs']
