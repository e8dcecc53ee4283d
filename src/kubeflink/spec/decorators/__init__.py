"""The steps by which a configuration becomes a pod and the objects around it, one per module."""
