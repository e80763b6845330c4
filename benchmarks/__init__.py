"""What the project promises, measured: each module prints its own lines, `python -m benchmarks` prints all.

Times are of the machine they ran on; ratios are taken in one process, the two sides in turn, so they hold elsewhere.
"""
