"""The broker: Flink's worker driver in Python, for a JobManager that may create nothing itself.

                          TLS, token                     the broker's own account
    JobManager  ------------------------>  front  ------------------------------->  API server
                  POST pod, watch pods       |  policy: what is taken from a request
                                             |  driver: pods, once each, within limits
                                             |  mirror: what is there, told again after any gap

Each module is one of these; `blueprint` knows what a TaskManager of this cluster looks like, and
`process` puts all together. Nothing is stored: what the broker has to know is in the API server, so
that it can be killed at any moment.
"""
