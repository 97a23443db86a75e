"""Experiments on public data: each is a module that takes the path of the data and writes tables and pictures."""
