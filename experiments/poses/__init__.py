"""Several people in one picture: structured DPPs beside independent poses and non-maximum suppression."""
