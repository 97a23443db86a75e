"""Combinations of arguments: cases that once failed, some fresh ones, and the limits of the fuzzer itself."""

import pytest

from trust import combinations

pytestmark = pytest.mark.needs_compiled

#: Selections that did not end, lost picks or raised; and a batch of one dependent set with probability 1.
FOUND = (
    100569, 100944, 100984, 101102, 101121, 101175, 101198, 101504, 101836, 102016, 102056, 102493, 102615, 103599,
    103834, 104557, 105323, 105674, 106058, 5014536, 9018784, 9023757,
)  # fmt: skip
#: The same, with thousands of items past the rank of a dense kernel: several seconds each.
FOUND_LARGE = (100555, 101991, 102677)


@pytest.mark.parametrize(
    "seed", [*FOUND, *range(150), *(pytest.param(seed, marks=pytest.mark.slow) for seed in FOUND_LARGE)]
)
def test_case(seed):
    assert combinations.run_case(seed, combinations.Calls()) is None


def test_a_contradiction_is_a_fault(monkeypatch):
    monkeypatch.setattr(combinations.np, "allclose", lambda *args, **options: False)
    faults = [combinations.run_case(seed, combinations.Calls()) for seed in range(20)]
    assert any(fault is not None and "contradict" in fault for fault in faults)


def test_calls_are_counted_and_refusals_too():
    calls = combinations.Calls()
    for seed in range(30):
        combinations.run_case(seed, calls)
    assert calls.made.total() > 100
    assert calls.refused.total() < calls.made.total()
    assert calls("select", combinations.dv.select, [[1.0]], -1) is None
    assert calls.refused["select"] >= 1


@pytest.mark.slow
def test_many_more():
    made, _, faults = combinations.run(20_000, 1_000_000)
    assert made.total() >= 20_000
    assert faults == []
