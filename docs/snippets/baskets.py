import io

import pandas as pd

import diverset as dv

# orders.csv, as shops export it: a line for every item of every order, here the lines of three orders, repeated.
lines = "order,item\n1,chips\n1,beer\n1,salsa\n2,milk\n2,bread\n2,eggs\n3,pasta\n3,cheese\n"
orders = pd.read_csv(io.StringIO(lines))
orders = pd.concat([orders.assign(order=orders.order + 3 * week) for week in range(50)])
model = dv.learn.NonsymmetricKernel(rank=8, rng=0).fit(orders)  # leave rank out to have it chosen
print([item for item, score in model.recommend(["chips", "beer"], n=1)])  # ['salsa']
report = dv.learn.compare_next_item(model, orders, orders, n=1)
print(report["model"].hit_rate > report["popularity"].hit_rate)  # True
