"""What compilers make of names, undone: C++ by the Itanium ABI, Rust of both kinds."""
