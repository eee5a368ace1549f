"""A process of real-time priority spins on one core; an ordinary daemon that is bound to that core
gets a twentieth of it and says in its log that it is late. Twin: spinners without a victim."""
