"""Stage 6 of 8. In: every row once, from the store. Out: typed answers for Python, commands and the dashboard."""
