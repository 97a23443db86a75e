import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from diverset.integrations.torch import DiverseBatchSampler

rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 8)).astype("float32")
y = (X[:, 0] > 0).astype("float32")


class Rows(Dataset):
    """The rows, their targets and their numbers."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return torch.from_numpy(X[i]), torch.tensor(y[i]), i  # the number, to look the weight up


sampler = DiverseBatchSampler(X, batch_size=64, rng=0)  # X, or embeddings of the rows
weights = torch.as_tensor(sampler.weights, dtype=torch.float32)
loader = DataLoader(Rows(), batch_sampler=sampler, num_workers=0)  # any number of workers
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
losses = torch.nn.BCEWithLogitsLoss(reduction="none")
for _ in range(5):  # epochs; each draws new batches
    for rows, targets, numbers in loader:
        loss = (weights[numbers] * losses(model(rows)[:, 0], targets)).sum() / len(X)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
right = (model(torch.from_numpy(X))[:, 0] > 0) == torch.from_numpy(y > 0)
print(len(loader), bool(right.float().mean() > 0.97))  # 32 True
