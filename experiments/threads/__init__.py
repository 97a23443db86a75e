"""Threads of news and of papers: the counterparts of tables 10 and 12 and figures 26 to 28 of the text."""
