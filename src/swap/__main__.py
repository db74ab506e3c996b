"""`python -m swap`: the same command where nothing is installed."""

from swap.cli.main import main

main()
