"""What runs in a model, and what flows where: `trace_model` looks on while the model's shell is called.

A model goes in, with the arguments of one call; a `Trace` comes out, and the model is what it was before. Needs torch.
"""
