"""Experiments: the paper's tables and figures, its data sets, and benchmarks of akkm.

"The paper" is "Scalable Kernel Clustering: Approximate Kernel k-means" by Chitta, Jin,
Havens and Jain (2014). The experiments import no private names of `akkm`, and are not
part of the wheel. Code that users of `akkm` need belongs in `src/akkm`. Start with
`python -m experiments --help`.
"""
