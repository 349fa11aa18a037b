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
    One sweep over partitions on Dask workers, as tasks that Dask can repeat. The death
    of a worker is handled in `rows.dask_cluster`.
`lloyd`
    The loop: sweep, test for convergence, refill empty clusters, update the centers.
`model`
    The fitted centers, and the comparison of new rows with them.
`membership`
    Certainties and memberships of rows, from their distances to the centers.
`eigenpairs`, `kernel_matrix`, `products`
    The largest eigenvalues of small matrices, the kernel matrix of a few rows, and
    products of a kernel matrix that is not stored.
`threads`, `freed_memory`
    Threads for chunks of rows, and reuse of freed memory on Dask workers.
"""
