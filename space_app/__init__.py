"""The dashboard: stages 7 and 8."""
