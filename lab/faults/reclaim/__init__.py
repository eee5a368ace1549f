"""A cgroup is at its memory limit because one process in it reads more files than fit; a daemon in
the same cgroup that needs a little memory must free some first, and is late. Twin: the same reading
in a cgroup of its own, and a compression beside it."""
