"""Diverse mini-batches and inducing points, beside what people use instead."""
