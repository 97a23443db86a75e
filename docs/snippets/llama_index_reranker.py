from llama_index.core.schema import NodeWithScore, TextNode

from diverset.integrations.llama_index import DiverseReranker

vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.05], "dogs": [0.0, 1.0]}
nodes = [NodeWithScore(node=TextNode(text=text, embedding=vector)) for text, vector in vectors.items()]

reranker = DiverseReranker(top_n=2, diversity=0.5)  # as_query_engine(node_postprocessors=[reranker])
print([node.text for node in reranker.postprocess_nodes(nodes)])  # ['cats', 'dogs']
