"""Applications: what the command line runs, each module one job from input to report."""
