"""`python -m rocketproof_properties.commands`."""

from . import main

main()
