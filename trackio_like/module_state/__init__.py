"""A torch module that is only looked at: what it is changed by and given back without, bit for bit.

Knows nothing of the tracker; landscapes and model graphs both stand on it. Needs torch.
"""
