"""Files that people have already → a recording like any other.

`recognise` tells what a file is, a reader turns it into `Piece`s on a clock of its own, `clocks`
finds that clock's wall time, and `merge` makes segments of ten minutes of all pieces together.
"""
