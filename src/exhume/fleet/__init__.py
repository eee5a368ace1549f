"""Many nodes: fingerprints, what differs between two, and what separates ill from well."""
