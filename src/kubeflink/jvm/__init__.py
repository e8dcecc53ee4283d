"""Flink in a JVM of this machine: where both are found, and Flink's own client as a process.

    java.py              a JVM that Flink runs on
    flink_home.py        real Flink on this machine, in one or several versions
    flink_command.py     Flink's command line, for what only a JVM on this side can do
    gateway.py           the JVM that PyFlink keeps beside a Python process

The embedded Kubernetes runs its pods with these, and a client makes a job's graph with them.
"""
