"""Learning from baskets, measured on held-out ones."""
