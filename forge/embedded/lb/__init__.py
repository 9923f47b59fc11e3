"""Services reached: cluster addresses, node ports and load-balancer addresses.

    pools.py      which address a Service gets, as MetalLB has it: values
    balancer.py   gives it, and takes it back
    frontends.py  where to listen, and where each listener leads: values
    proxy.py      a relay for each;  udp.py: for datagrams (TCP is process/relay.py)
    interface.py  load-balancer addresses on a network interface, for a node in a container

Addresses are loopback ones, which Linux takes without asking; only those of load balancers may be put on
an interface (`--lb-interface`). One that a killed daemon left there stays until it is given again.
Ports below 1024 need the right to them; without it their Service says so, that of the API (443) too.
Session affinity and traffic policies are stored and not kept: every client of a loopback relay has the
same address.
"""
