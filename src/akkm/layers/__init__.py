"""Layers: numbers of clusters that independent halves of the rows agree on.

A partition is worth showing if it can be found again. So the rows are split at random,
both halves are clustered on their own, and the labels are compared. The same is done
with reference rows that have no clusters. This package measures the agreement for many
numbers of clusters (`curve`). The eigenpairs or points of a half are computed once for
all numbers (`walk_halves`, `point_halves`). Layers are nested by merging clusters
(`tree`). The package knows nothing about estimators.
"""
