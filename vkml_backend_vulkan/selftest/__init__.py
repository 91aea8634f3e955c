"""The self-test: what a driver computes, compared with the contract when it is first met."""
