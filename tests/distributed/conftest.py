"""Where the tests of features in blocks run: in this thread, or on a real cluster of two workers."""

import pytest


@pytest.fixture(autouse=True)
def in_this_thread(request):
    """Dask without threads, for tests that use no cluster: what is small is slowed down by them."""
    if "cluster" in request.fixturenames:
        yield
        return
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="package")
def cluster():
    """Client of two worker processes on loopback."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client
