"""Access to a Kubernetes API server: kubeconfig, objects, watches, port-forward."""

from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.client import KubeClient, ObjectList
from kubeflink.kube.exchange import Limits
from kubeflink.kube.streams import WatchEvent

__all__ = ["ClusterAccess", "KubeClient", "Limits", "ObjectList", "WatchEvent"]
