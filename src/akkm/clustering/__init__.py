"""`akkm.cluster`: cluster a data frame in one call.

This package puts an encoder, an estimator and a report together, for Python users and
for the command line. It contains no clustering methods.
"""

from akkm.clustering._cluster import cluster
from akkm.clustering._clustering import Clustering, labelled_columns, with_free_names
from akkm.clustering._dependence import (
    ColumnDependence,
    column_dependence,
    has_categories,
    number_from_columns,
)
from akkm.clustering._measures import certainty_of_measures, certainty_of_rows, measures
from akkm.clustering._methods import ESTIMATORS, default_method

__all__ = [
    "ESTIMATORS",
    "Clustering",
    "ColumnDependence",
    "certainty_of_measures",
    "certainty_of_rows",
    "cluster",
    "column_dependence",
    "default_method",
    "has_categories",
    "labelled_columns",
    "measures",
    "number_from_columns",
    "with_free_names",
]
