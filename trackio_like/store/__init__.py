"""Stage 5 of 8. In: a folder of shards and journals that others write. Out: every row once, and what changed since."""
