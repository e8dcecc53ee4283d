"""Apache Flink on Kubernetes from Python.

kubeflink is Flink's native Kubernetes integration written in Python: it deploys session and
application clusters of real Apache Flink through the Kubernetes API, and submits and steers jobs
over Flink's REST API. No JVM and no Flink distribution is needed where it is installed.
"""

__version__ = "0.1.0.dev0"
