import numpy as np

from diverset.integrations.curation import drop_near_duplicates

# np.load("embeddings.npy", mmap_mode="r"), a frame, or a tensor; here 3,000 rows, of which 1,000 are near-copies
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 64))
X = np.vstack([X, X[:1000] + 0.1 * rng.normal(size=(1000, 64))]).astype(np.float32)

found = drop_near_duplicates(X, threshold=0.95)
print(str(found).splitlines()[0])  # 3,000 rows: 2,000 kept, 1,000 dropped (cosine 0.95 or more)
print(found.members(0))  # [   0 2000]
clean = X[found.kept]
print(clean.shape)  # (2000, 64)
