"""Commands for the user to copy, for messages about clusters: see `kube.next_step`."""

from kubeflink.kube.next_step import command as command
from kubeflink.kube.next_step import kubectl as kubectl
