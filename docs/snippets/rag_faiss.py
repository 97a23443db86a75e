import faiss
import numpy as np

from diverset.integrations.stores import from_faiss

vectors = np.array([[1.0, 0.2], [1.0, 0.25], [0.2, 1.0]], dtype=np.float32)
index = faiss.IndexFlatL2(2)
index.add(vectors)

distances, ids = index.search(np.array([[1.0, 0.1]], dtype=np.float32), 3)
found = from_faiss(index, distances, ids)
print(found.lower_is_better)  # True
print(found.select(2).take(found.ids))  # [0, 2]
