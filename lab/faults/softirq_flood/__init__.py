"""Small packets flood a veth pair whose receiving side is served by one core; a daemon bound to
that core is late while the core receives. Twin: a copy over the same kind of pair."""
