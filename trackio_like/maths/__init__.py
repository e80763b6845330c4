"""Pure numpy, no files and no clock: what the stages calculate with."""
