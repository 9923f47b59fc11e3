"""`python -m edge.simulator`."""

import sys

from edge.simulator.main import main

sys.exit(main())
