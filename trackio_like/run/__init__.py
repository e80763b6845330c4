"""Stage 1 of 8. In: the calls of a training script. Out: records, handed to the journal before `log()` returns."""
