"""The oracle against the contract: references by scalars, layouts, environments, source."""
