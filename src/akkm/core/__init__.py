"""The clustering loop: assign rows to centers, and update the centers.

This package works on plain arrays. The storage of rows, the choice of landmarks and the
parameters of estimators do not belong here.

`strip`
    Kernel values of all rows with all landmarks, computed in tiles, cached on demand.
`gram`, `gradient`
    Centers α from the clusters' means, by factoring K̂ or by conjugate gradients.
`nearest`
    The nearest center of each row, independent of rounding errors.
`bounds`
    Bounds that prove a row's label, so that the row is skipped.
`parts`, `remote_parts`
    One sweep over the rows of this process, or over partitions held by Dask workers.
    If a worker dies, its results are recomputed; `rows.cluster` waits for workers.
`lloyd`
    The loop: sweep, test for convergence, refill empty clusters, update the centers.
`model`
    The fitted centers, and the comparison of new rows with them.
"""
