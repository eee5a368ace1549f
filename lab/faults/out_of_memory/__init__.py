"""A process wants more memory than its cgroup may have; the kernel kills it, and says so. Twin: the
kernel's line, written to the kernel log by user space."""
