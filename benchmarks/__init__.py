"""Speed and accuracy, measured: ``python -m benchmarks run``. Each module with ``CASES`` is one benchmark."""
