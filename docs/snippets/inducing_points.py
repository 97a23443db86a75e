import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

from diverset.integrations import inducing_points

X = StandardScaler().fit_transform(load_diabetes().data)  # 442 rows, 10 features
found = inducing_points(X, 50, length_scale=4.0)
print(found.points.shape, found.trace_bound < 0.03 * found.trace)  # (50, 10) True

# In GPyTorch: InducingPointKernel(base, inducing_points=torch.as_tensor(found.points), likelihood=likelihood).
# In GPflow: gpflow.models.SGPR((X, y), kernel, inducing_variable=found.points).
# With a kernel object of scikit-learn the points are rows of X, found.indices:
fitted = 2.0 * RBF(length_scale=4.0)
rows = inducing_points(X, 50, fitted)
print(np.array_equal(rows.points, X[rows.indices]), rows.trace_bound < 0.05 * rows.trace)  # True True
