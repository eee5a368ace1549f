"""What a node is and runs: one module per area, all in the tuple of `fleet.fingerprint`."""
