"""Layers: numbers of clusters that reappear in independent draws of the rows.

A partition is worth showing if it can be found again. So the rows are split at random,
both halves are clustered on their own, and the labels are compared. The same is done
with reference rows that have no clusters. This package measures the agreement for many
numbers of clusters (`curve`), with one embedding per half for all numbers
(`walk_halves`, `point_halves`), and nests the layers (`tree`). It knows nothing about
estimators.
"""
