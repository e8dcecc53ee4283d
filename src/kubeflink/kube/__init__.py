"""Access to a Kubernetes API server: kubeconfig, objects, watches, port-forward."""

from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.client import KubeClient
from kubeflink.kube.exchange import Limits
from kubeflink.kube.streams import WatchEvent
from kubeflink.kube.verbs import ObjectList

__all__ = ["ClusterAccess", "KubeClient", "Limits", "ObjectList", "WatchEvent"]
