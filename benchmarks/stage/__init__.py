"""What the benchmarks of the broker share: the processes that take part, and what they use."""
