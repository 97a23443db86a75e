from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from diverset.integrations.langchain import DiverseRetriever

texts = ["a cat sleeps", "a cat sleeps", "a cat plays", "a dog barks", "a dog runs", "a fish swims"]
metadata = [{"source": f"page {i}"} for i in range(6)]
store = InMemoryVectorStore.from_texts(texts, DeterministicFakeEmbedding(size=16), metadata)

retriever = DiverseRetriever(vectorstore=store, k=3, fetch_k=6, diversity=0.7)
first = retriever.invoke("a cat sleeps")
print(first[0].page_content)  # a cat sleeps
print(len({document.page_content for document in first}))  # 3
print(sorted(first[0].metadata))  # ['diverset_gain', 'diverset_kept', 'score', 'source']

# The next page stays away from the first. Settings of one call go to invoke.
second = retriever.invoke("a cat sleeps", given=first, k=2)
print(bool({document.id for document in first} & {document.id for document in second}))  # False

# A filter in the store's own form, and a chain.
sources = retriever.bind(filter=lambda document: document.metadata["source"] != "page 0") | (
    lambda documents: sorted(document.metadata["source"] for document in documents)
)
print("page 0" in sources.invoke("a cat sleeps"))  # False
