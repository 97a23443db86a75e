"""Image search with mixtures of k-DPPs (section 5.3 of the monograph), on judged photos and on pixels."""
