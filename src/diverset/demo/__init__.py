"""The demo: ten cities on a map, a summary of reports and threads of news."""
