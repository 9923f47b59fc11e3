"""The proof: drives a lab through `praxis-forge` and the wire, and checks every promise with evidence.

    main > scenarios, report > checks, actions > scenario > lab, traffic, watch > forge_command, wire

It knows the contract (`grid.contract`) and the lab's names (`environments/grid-edge`), never the code of
what it proves.
"""
