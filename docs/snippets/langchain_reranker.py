from langchain_core.documents import Document

from diverset.integrations.langchain import DiverseReranker

vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.05], "dogs": [0.0, 1.0]}
documents = [Document(text, metadata={"embedding": vector}) for text, vector in vectors.items()]

reranker = DiverseReranker(top_n=2, diversity=0.5)  # a document compressor: give it to ContextualCompressionRetriever
print([document.page_content for document in reranker.compress_documents(documents, "pets")])  # ['cats', 'dogs']
