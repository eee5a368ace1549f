"""A cgroup may use only part of a core, and a busy process in it uses that up; a daemon in the same
cgroup is late. Twin: a busy process that stays within its quota."""
