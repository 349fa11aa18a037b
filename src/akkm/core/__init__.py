"""The loop: kernel strip, factored landmarks, nearest centers, bounds, Lloyd, model.

Everything that assigns rows to centers and updates centers belongs here, in plain
arrays. Where rows are stored, how landmarks are chosen and what users call parameters
does not.

`strip`
    Kernel rows of all rows against the landmarks, in tiles, recomputed or cached.
`gram`, `gradient`
    Centers α from the clusters' means: by the factored K̂, or by conjugate gradients.
`nearest`
    The nearest center of each row, decided so that rounding does not matter.
`bounds`
    Bounds that prove a row's label, so that the row is skipped.
`parts`, `remote_parts`
    One sweep over the rows of this process, and over partitions held by workers; what
    a dead worker held is recomputed.
`lloyd`
    The loop: sweep, stop, refill empty clusters, centers from the clusters' sums.
`model`
    The fitted centers, and the comparison of new rows with them.
"""
