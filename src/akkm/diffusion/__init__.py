"""Diffusion kernels: two rows are similar if their random walks end at the same rows.

This package computes the similarity matrix of rows (by a neighbour graph or by
landmarks), its spectrum, the number of diffusion steps t and the estimate of the number
of clusters. Estimator parameters, output, and the clustering of the embedding do not
belong here.

`neighbour_search`, `cell_search`, `neighbour_lists`
    Nearest neighbours: exact, or by cells for many rows; lists of the nearest points
    found so far.
`prepared_rows`, `row_hashes`, `row_lengths`
    Rows in the form in which the search compares them; hashes that identify equal rows;
    rows scaled to unit length.
`neighbour_graph`, `choose_neighbours`
    The similarity matrix W made of shared neighbours, and its components; the choice of
    the number of neighbours, or of k-means without a graph.
`constrained_graph`, `class_shares`, `carried_classes`
    Constraints on labels, applied to the graph; known classes, spread by random walks.
`point_clusters`
    Clusters of an embedding, for steps before the clustering of the fit.
`landmark_positions`, `landmark_ties`
    Where landmarks are placed, and which landmarks each row is tied to.
`spectrum`, `chebyshev`
    Leading eigenvalues and eigenvectors of a similarity matrix.
`diffusion_time`
    The rule that sets t, and the weight eigenvalue^t of each eigenvector.
`estimate_k`
    The number of clusters from gaps in the spectrum, with the evidence for it.
`graph_sample`
    The rows of the graph: all distinct rows, or a sample.
`graph_embedding`, `landmark_embedding`
    All steps from rows to their embedding, and the embedding of new rows.
`placing`
    The embedding of new rows in memory, in files or on Dask workers.
`staying_walks`
    The share of short walks that stay in a row's cluster, for the row's certainty.
`given_graph`, `graph_export`
    The same steps for a graph that the user gives, and the graph as a matrix that other
    tools accept.
"""
