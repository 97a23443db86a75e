"""Every outcome of a random program, with its probability, by replaying its choices."""

import numpy as np


class Choices:
    """Stands in for a generator: follows given choices, then takes the first, and remembers them all."""

    def __init__(self, given):
        self.given, self.taken, self.probability = given, [], 1.0

    def decide(self, p):
        """True with probability p; certain choices branch nowhere."""
        if p in (0.0, 1.0):
            return p == 1.0
        i = len(self.taken)
        choice = self.given[i] if i < len(self.given) else True
        self.taken.append(choice)
        self.probability *= p if choice else 1.0 - p
        return choice

    def random(self, size):
        """Uniform numbers, for a program that asks only whether they are below one half."""
        return np.array([0.25 if self.decide(0.5) else 0.75 for _ in range(size)])


def every_branch(run):
    """Pairs of what `run(choices)` returns and its probability, over all choices."""
    waiting = [[]]
    while waiting:
        given = waiting.pop()
        choices = Choices(given)
        yield run(choices), choices.probability
        for i in range(len(given), len(choices.taken)):
            waiting.append([*choices.taken[:i], not choices.taken[i]])
