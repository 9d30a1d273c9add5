"""`python -m standing_orders` is the command `standing-orders`."""

import sys

from standing_orders.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
