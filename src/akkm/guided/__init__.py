"""Constraints on labels: known classes of rows, and pairs that belong together or not.

Constraints and the step that assigns constrained rows belong here. The loop over all
rows is in `akkm.core`, and its initialisation with constraints is in `akkm.approx`.

`reading`
    Known classes and pairs of rows, in all forms that users may give.
`constraints`
    The record of all constraints on n rows, free of contradictions.
`contradictions`
    The chain of rows that makes constraints contradictory.
`assignment`
    The cheapest clusters of constrained rows, given their costs in each cluster.
`coloring`
    A first assignment that satisfies all cannot-link pairs.
`guide`
    The constraints of one fit: clusters of the classes, weights and penalties.
`parts`
    The rows of the loop, with constrained rows assigned separately.
`width`
    The kernel width that separates known rows best.
`questions`
    The rows whose classes would help most.
`local_search`
    A better clustering of few rows than that of Lloyd's algorithm.
"""
