"""A real-time process starves a daemon on one core, which says so in its log; meanwhile, on
another, a walker is held by the zombies of a crash loop. Two symptoms with a cause each, and both
must be named, the worse first. Twin: spinners and short jobs together."""
