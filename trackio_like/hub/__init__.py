"""The Hugging Face Hub behind our own names: the only package that imports huggingface_hub."""
