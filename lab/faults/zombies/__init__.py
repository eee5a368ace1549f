"""A service dies again and again and leaves memory cgroups behind that its files on a tmpfs keep;
an innocent daemon that has caches emptied now and again walks all of them, and is held in the
kernel for seconds. A busy training job beside them is innocent too. The kernel that the lab was
made on (6.18) reschedules while it walks, so whoever walks is the victim and no neighbour starves.
Twin: thousands of live cgroups, emptied just as often."""
