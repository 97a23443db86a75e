r"""DPPs as PyTorch distributions, with differentiable log-likelihoods for training embeddings.

Kernels may be batched, and depend on anything that PyTorch can differentiate:

* :class:`DPPDistribution` has ``log_prob`` of subsets given as boolean masks, differentiable bounds of the entropy,
  and inclusion probabilities;
* :class:`KDPPDistribution`, the same for sets of k items.

Masks have one entry per item. No other module of diverset needs PyTorch. Without PyTorch this module can be imported,
and its classes raise an error with the install command when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diverset._extras import found, stand_in
from diverset.errors import DiversetError, KernelError

__all__ = ["DPPDistribution", "KDPPDistribution"]


def _log_det_psd(a: Any) -> Any:
    """Log-determinant of positive definite matrices; ``-inf``, without a gradient, if Cholesky fails."""
    factor, failed = torch.linalg.cholesky_ex(a)
    value = 2.0 * torch.log(torch.diagonal(factor, dim1=-2, dim2=-1).clamp_min(1e-300)).sum(-1)
    return torch.where(failed == 0, value, torch.full_like(value, -torch.inf))


def _check_mask(value: Any, n: int) -> Any:
    if not torch.is_tensor(value) or value.dtype != torch.bool or value.shape[-1] != n:
        shape = tuple(value.shape) if torch.is_tensor(value) else type(value).__name__
        raise DiversetError(f"the set is {shape}; pass a boolean tensor whose last dimension is the {n} items")
    return value


if TYPE_CHECKING or found("torch"):
    import torch
    from torch.distributions import Distribution

    class DPPDistribution(Distribution):
        r"""DPP over n items as a ``torch.distributions.Distribution``.

        Parameters
        ----------
        L : tensor of shape (..., n, n), optional
            Likelihood kernels, symmetric positive semidefinite.
        features : tensor of shape (..., n, D), optional
            Embeddings B with :math:`L = BB^T`, instead of L. If D < n, the normaliser is computed from the D x D dual.

        Notes
        -----
        ``log_prob`` broadcasts masks against the batch of kernels. Use float64: the determinant of a few dozen similar
        items has few correct digits in float32.

        Examples
        --------
        >>> import pytest; torch = pytest.importorskip("torch")
        >>> from diverset.learn.torch import DPPDistribution
        >>> B = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], dtype=torch.float64, requires_grad=True)
        >>> sets = torch.tensor([[True, False, True], [False, True, False]])
        >>> (-DPPDistribution(features=B).log_prob(sets).mean()).backward()
        >>> B.grad.shape
        torch.Size([3, 2])
        """

        arg_constraints: dict[str, Any] = {}  # noqa: RUF012 (the name and kind that PyTorch asks for)

        def __init__(self, L: Any = None, *, features: Any = None) -> None:
            if (L is None) == (features is None):
                raise DiversetError("give either L or features")
            given = features if L is None else L
            if not torch.is_tensor(given) or given.ndim < 2 or not given.is_floating_point():
                raise DiversetError("kernels and features are floating-point tensors of at least two dimensions")
            if L is not None and L.shape[-1] != L.shape[-2]:
                raise DiversetError(f"L has shape {tuple(L.shape)}; a kernel is square")
            self.features = features
            self._L = L
            super().__init__(given.shape[:-2], given.shape[-2:-1], validate_args=False)

        @property
        def n_items(self) -> int:
            """Number of items."""
            return int(self.event_shape[0])

        @property
        def L(self) -> Any:
            """Likelihood kernels, of shape (..., n, n)."""
            return self._L if self.features is None else self.features @ self.features.transpose(-1, -2)

        def _small(self) -> Any:
            """L, or its dual if that is smaller: the nonzero eigenvalues are the same."""
            if self.features is not None and self.features.shape[-1] < self.n_items:
                return self.features.transpose(-1, -2) @ self.features
            return self.L

        @property
        def log_normalizer(self) -> Any:
            r""":math:`\log\det(L + I)`, of the shape of the batch."""
            small = self._small()
            value = _log_det_psd(small + torch.eye(small.shape[-1], dtype=small.dtype, device=small.device))
            if not bool(torch.isfinite(value).all()):
                raise KernelError("L + I is not positive definite; L must be positive semidefinite and finite")
            return value

        def log_prob(self, value: Any) -> Any:
            r""":math:`\log\det L_Y - \log\det(L + I)` of sets given as boolean masks of shape (..., n)."""
            return self.log_volume(value) - self.log_normalizer

        def log_volume(self, value: Any) -> Any:
            r""":math:`\log\det L_Y`; ``-inf`` for dependent items."""
            # L in the rows and columns of each mask, the identity elsewhere: the determinant is that of the block.
            inside = _check_mask(value, self.n_items).to(self.L.dtype)
            block = self.L * inside.unsqueeze(-1) * inside.unsqueeze(-2)
            return _log_det_psd(block + torch.diag_embed(1.0 - inside))

        @property
        def marginal_kernel(self) -> Any:
            r""":math:`K = L(L + I)^{-1}`."""
            L = self.L
            one = torch.eye(self.n_items, dtype=L.dtype, device=L.device)
            return torch.linalg.solve(L + one, L)

        @property
        def mean(self) -> Any:
            """Inclusion probabilities, of shape (..., n)."""
            return torch.diagonal(self.marginal_kernel, dim1=-2, dim2=-1)

        def entropy_bounds(self) -> tuple[Any, Any]:
            r"""Differentiable lower and upper bounds of the entropy.

            .. math::  \sum_m h(\kappa_m) \le H(Y) \le \sum_i h(K_{ii}), \qquad h(p) = -p\log p - (1-p)\log(1-p),

            with the eigenvalues and the diagonal of K. The upper bound is the entropy of independent items. The lower
            bound is the entropy of the free-fermion state whose occupied sites are Y; measuring the sites cannot lower
            it. The bounds are equal for diagonal kernels. The exact entropy is a sum over all subsets.
            """
            lam = torch.linalg.eigvalsh(self._small()).clamp_min(0.0)
            return _binary_entropy(lam / (1.0 + lam)).sum(-1), _binary_entropy(self.mean).sum(-1)

        def entropy(self) -> Any:
            """The lower bound of :meth:`entropy_bounds`: a surrogate that is safe to maximise."""
            return self.entropy_bounds()[0]

        def of_size(self, k: int) -> KDPPDistribution:
            """The k-DPP with the same kernel."""
            return KDPPDistribution(self._L, k, features=self.features)

    def _binary_entropy(p: Any) -> Any:
        # Clamped, since p log p has an infinite slope at p = 0.
        tiny = torch.finfo(p.dtype).tiny
        p = p.clamp(tiny, 1.0 - torch.finfo(p.dtype).eps)
        return -(p * torch.log(p) + (1.0 - p) * torch.log1p(-p))

    class KDPPDistribution(DPPDistribution):
        r"""k-DPP as a ``torch.distributions.Distribution``: :math:`\Pr(Y) = \det L_Y / e_k(\lambda)`, :math:`|Y| = k`.

        Parameters
        ----------
        L : tensor of shape (..., n, n), optional
            Likelihood kernels.
        k : int
            Size of the sets.
        features : tensor of shape (..., n, D), optional
            Instead of L.

        Notes
        -----
        :math:`\log e_k` is computed from the eigenvalues by the recursion of [KuleszaTaskar2012]_, Algorithm 7, in
        logarithms: O(nk) steps, which PyTorch differentiates. The gradient also exists if eigenvalues are equal, since
        :math:`e_k` is symmetric in them.
        """

        def __init__(self, L: Any = None, k: int = 1, *, features: Any = None) -> None:
            super().__init__(L, features=features)
            rank = self.n_items if features is None else min(features.shape[-2:])
            if not 0 <= k <= rank:
                raise DiversetError(f"k is {k}, but sets of these kernels have 0 to {rank} items")
            self.k = int(k)

        @property
        def log_normalizer(self) -> Any:
            r""":math:`\log e_k(\lambda)`, of the shape of the batch."""
            lam = torch.linalg.eigvalsh(self._small())
            log_lam = torch.log(lam.clamp_min(torch.finfo(lam.dtype).tiny))
            low = torch.full_like(log_lam[..., 0], -torch.inf)
            table = [torch.zeros_like(low)] + [low] * self.k
            for m in range(log_lam.shape[-1]):
                # From the highest order down, so that each entry read is from the previous step.
                for order in range(min(m + 1, self.k), 0, -1):
                    term = log_lam[..., m] + table[order - 1]
                    table[order] = term if order == m + 1 else torch.logaddexp(table[order], term)
            return table[self.k]

        def log_prob(self, value: Any) -> Any:
            r""":math:`\log\det L_Y - \log e_k(\lambda)`; ``-inf`` for sets of another size."""
            mask = _check_mask(value, self.n_items)
            logs = self.log_volume(mask) - self.log_normalizer
            return torch.where(mask.sum(-1) == self.k, logs, torch.full_like(logs, -torch.inf))

        @property
        def marginal_kernel(self) -> Any:
            """Raise an error: a k-DPP has no marginal kernel."""
            raise DiversetError("a k-DPP has no marginal kernel; of its probabilities this module has log_prob only")

else:
    DPPDistribution = stand_in("DPPDistribution", needs="PyTorch", extra="torch")
    KDPPDistribution = stand_in("KDPPDistribution", needs="PyTorch", extra="torch")
