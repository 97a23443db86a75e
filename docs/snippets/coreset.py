import numpy as np
from sklearn.linear_model import Ridge

from diverset.integrations import coreset

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 12))
y = X @ rng.standard_normal(12) + 0.1 * rng.standard_normal(20_000)
small = coreset(X, 300, rng=0)
model = Ridge().fit(X[small.indices], y[small.indices], sample_weight=small.weights)
print(len(small), model.score(X, y) > 0.99)  # 300 True
