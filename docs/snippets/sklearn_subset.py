from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from diverset.integrations.sklearn import DiverseSelector, SubsetFit

X, y = load_iris(return_X_y=True)
thirty = DiverseSelector(n_select=30, similarity="rbf")  # of the 150 rows
few = SubsetFit(LogisticRegression(), thirty)  # a classifier: every class is kept
model = make_pipeline(StandardScaler(), few).fit(X, y)
print(model.score(X, y) > 0.9)  # True
