"""Model graphs: what a network is made of, and how data go through it.

Knows nothing of the tracker. `ModelGraph` needs no torch; building one does.
"""
