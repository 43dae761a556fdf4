"""`python -m rocketproof_properties.cli`."""

from . import main

main()
