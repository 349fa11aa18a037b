"""The clustering loop: assign rows to centers, and update the centers.

This package works on plain arrays. The storage of rows, the choice of landmarks and the
parameters of estimators do not belong here.

`strip`
    Kernel values of all rows with all landmarks, computed in tiles, cached on demand.
`gram`
    The formula for α: centers from the clusters' means, with the factored matrix K̂.
`gradient`
    The same centers by conjugate gradients, without factoring K̂.
`nearest`
    The nearest center of each row, independent of rounding errors.
`bounds`
    Bounds that prove a row's label, so that the row is skipped.
`parts`
    One sweep over the rows of this process.
`remote_parts`
    One sweep over partitions on Dask workers. If a worker dies, its results are
    recomputed; `rows.dask_cluster` ends the fit if no worker is left.
`lloyd`
    The loop: sweep, test for convergence, refill empty clusters, update the centers.
`model`
    The fitted centers, and the comparison of new rows with them.
"""
