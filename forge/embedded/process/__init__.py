"""The process supervisor: processes with their own address, mounts, probes, restarts and logs.

It serves twice: as a library in the daemon of an embedded cluster, which runs pods with it, and as
a daemon of its own (`python -m forge.embedded.process`) for the standalone services of a lab.

    spec.py        what to run, and how it stands: values
    supervisor.py  the library: create, start, stop, remove, status, subscribe
    supervised.py  one process through its starts and ends
    restart.py     the law of restarts and back-off
    mounts.py      mounts as symlinks, and the words of argv and env that follow them
    environ.py     the environment a process gets before its own
    spawn.py       the fork: session, death with the supervisor, output pipes
    procfs.py      who a process is, and the end of what a dead supervisor left
    logs.py        the file format of logs, and writing it, bounded;  follow.py: reading, following
    relay.py       a listener that passes connections on to an address
    descriptors.py room for connections;  record.py: what is on disk of each process, without its environment
    daemon.py      the library behind a unix socket;  client.py: its other end, blocking;  wire.py: between
    beside.py      a command beside a process;  probes.py: checks, for those who live in the event loop

Everything happens in callbacks of one event loop, in one thread: there are no tasks to lose. Processes
must be started from the main thread, since the kernel's parent-death signal follows the thread.
There is no isolation: a mount marked read-only is a promise, and every process sees the whole machine.
"""
