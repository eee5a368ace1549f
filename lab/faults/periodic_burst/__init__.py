"""A process of real-time priority takes one core for a second or two, again and again at a steady
pace; an ordinary daemon bound to that core is late each time. Twin: the same pace and length
without the priority."""
