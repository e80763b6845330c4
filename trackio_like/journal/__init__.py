"""Stage 2 of 8. In: records of one process. Out: an append-only journal that survives SIGKILL, and its reader."""
