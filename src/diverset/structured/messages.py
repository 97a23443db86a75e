r"""Message passing over a factor tree, in any semiring ([KuleszaTaskar2012]_, section 6.2.2).

Messages towards the root come first; they are all that a normaliser or a draw needs. Messages away from it, on
request, complete the beliefs of every part:

.. math::

    m_{r \to \alpha}(y_r) = \bigotimes_{\beta \ne \alpha} m_{\beta \to r}(y_r), \qquad
    m_{\alpha \to r}(y_r) = \bigoplus_{y_\alpha \sim y_r} w_\alpha(y_\alpha) \otimes
        \bigotimes_{s \ne r} m_{s \to \alpha}(y_s).

Every message is divided by its largest weight and the logarithm kept, so that long chains neither over- nor underflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.structured.semirings import Semiring
from diverset.structured.tree import FactorTree, PairNode, TableNode

__all__ = ["Beliefs", "Messages", "pass_both_ways", "pass_up"]


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages towards the root; `parts` and `factors` hold arrays of shape (n_values, width)."""

    semiring: Semiring
    #: For each part, the product of its own factors and of the messages from below: what it sends up.
    parts: list[FloatArray]
    #: For each factor in `keep` of `pass_up`, what it sends to its parent.
    factors: dict[int, FloatArray]
    #: The sum over all structures, of shape (1, width), divided by ``exp(log_scale)``.
    total: FloatArray
    log_scale: float


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Messages both ways; ``outside[r]`` is what part r receives from above, up to a factor."""

    up: Messages
    outside: list[FloatArray]

    def belief(self, r: int) -> FloatArray:
        """For each value of part r, the sum over the structures that take it, up to one factor for all."""
        return self.up.semiring.times(self.up.parts[r], self.outside[r])


def unary_elements(tree: FactorTree, semiring: Semiring, r: int, fixed: int | None = None) -> FloatArray:
    """Elements of the values of a part by its own factors; if its value is fixed, all others are zero."""
    own = tree.unary[r]
    weights = np.ones(tree.n_values[r]) if own.weights is None else own.weights
    x = semiring.lift(weights, own.features)
    if fixed is None:
        return x
    held = semiring.zero(len(x))
    held[fixed] = x[fixed]
    return held


def table_elements(node: TableNode, semiring: Semiring, parts: list[FloatArray], skip: int | None = None) -> FloatArray:
    """Elements of the joint values of a factor, times the messages of its children except `skip`."""
    x = semiring.lift(node.weights, node.features)
    for child, at in zip(node.children, node.at_children, strict=True):
        if child != skip:
            x = semiring.times(x, parts[child][at])
    return x


def pass_up(
    tree: FactorTree,
    semiring: Semiring,
    *,
    fixed: Mapping[int, int] | None = None,
    keep: Iterable[int] = (),
) -> Messages:
    """Messages towards the root, with some parts `fixed` at a value; messages of the factors in `keep` are kept.

    O(entries of all factors times width) time, O(R M width) memory.
    """
    held = {} if fixed is None else fixed
    wanted = set(keep)
    # Parts that share their factors share their elements, which are replaced and never written into.
    shared: dict[tuple[int, int, int | None, int], FloatArray] = {}
    parts = []
    for r, own in enumerate(tree.unary):
        key = id(own.weights), id(own.features), held.get(r), tree.n_values[r]
        if key not in shared:
            shared[key] = unary_elements(tree, semiring, r, held.get(r))
        parts.append(shared[key])
    kept: dict[int, FloatArray] = {}
    log_scale = tree.log_scale
    for i in range(len(tree.nodes) - 1, -1, -1):
        # All that hangs below the children has been multiplied in by now.
        node = tree.nodes[i]
        if isinstance(node, PairNode):
            message = semiring.through(node.operator, parts[node.children[0]], up=True)
        else:
            message = semiring.grouped(table_elements(node, semiring, parts), node.offsets)
        if i in wanted:
            kept[i] = message
        parts[node.parent] = semiring.times(parts[node.parent], message)
        log_scale += semiring.rescale(parts[node.parent])
    return Messages(semiring, parts, kept, semiring.total(parts[tree.root]), log_scale)


def _products_of_others(semiring: Semiring, factors: list[FloatArray], first: FloatArray) -> list[FloatArray]:
    """For each factor, `first` times all the others, without a division, so that zeros are allowed."""
    before = [first]
    for x in factors[:-1]:
        before.append(semiring.times(before[-1], x))
    out, after = [], None
    for x, b in zip(reversed(factors), reversed(before), strict=True):
        out.append(b if after is None else semiring.times(b, after))
        after = x if after is None else semiring.times(after, x)
    return out[::-1]


def pass_both_ways(
    tree: FactorTree, semiring: Semiring, *, fixed: Mapping[int, int] | None = None, keep: bool = False
) -> Beliefs:
    """Messages towards the root and back, for the beliefs of all parts; some may be fixed at a value.

    Messages from the factors towards the root are kept only if `keep` is true.
    """
    held = {} if fixed is None else fixed
    up = pass_up(tree, semiring, fixed=held, keep=range(len(tree.nodes)))
    outside: list[FloatArray] = [np.zeros((0, 0))] * len(tree.n_values)
    outside[tree.root] = semiring.one(tree.n_values[tree.root])
    from_above: dict[int, FloatArray] = {}

    def send(r: int) -> None:
        """Send to each factor below part r the product of all that r knows from elsewhere."""
        below = tree.below[r]
        if below:
            first = semiring.times(unary_elements(tree, semiring, r, held.get(r)), outside[r])
            for i, x in zip(below, _products_of_others(semiring, [up.factors[i] for i in below], first), strict=True):
                semiring.rescale(x)
                from_above[i] = x

    send(tree.root)
    for i, node in enumerate(tree.nodes):
        incoming = from_above.pop(i)
        for child in node.children:
            if isinstance(node, PairNode):
                message = semiring.through(node.operator, incoming, up=False)
            else:
                x = semiring.times(table_elements(node, semiring, up.parts, skip=child), incoming[node.at_parent])
                at = node.at_children[node.children.index(child)]
                order = np.argsort(at, kind="stable")
                offsets = np.searchsorted(at[order], np.arange(tree.n_values[child] + 1))
                message = semiring.grouped(x[order], offsets)
            semiring.rescale(message)
            outside[child] = message
            send(child)
        if not keep:
            up.factors.pop(i)
    return Beliefs(up, outside)


def check_possible(messages: Messages, what: str = "structure") -> None:
    """Raise an error if every structure is forbidden."""
    if not messages.total[0, 0] > 0.0:
        raise DiversetError(
            f"no {what} is allowed: the factors forbid every combination of values (or its quality is below 1e-300 of "
            "what its factors could reach)"
        )
