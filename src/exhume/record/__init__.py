"""The loop that binds sources and sampler to the store, and watches its own cost."""
