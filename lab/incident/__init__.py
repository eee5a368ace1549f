"""The incident of the design as a set of files: what its people had in hand, made up but faithful.

One core of many is held in the kernel for seconds by whoever asks for memory statistics, because a
crash loop has left tens of thousands of memory cgroups behind. Where that core serves a queue of
the network card and it takes more than five seconds, the driver resets the card and a job dies.

Nothing but the seed decides about names, cores, queues and times. The truth lies in a folder of its
own, which an import of the files does not look into.
"""
