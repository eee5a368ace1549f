"""Many workers of one program touch fresh memory and give it back, over and over, on one core; a
daemon bound to that core gets its turn so seldom that it is late. Twin: a build, whose thousands of
short processes fault as much."""
