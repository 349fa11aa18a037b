"""Facts about a fitted model, as typed records: quality, certainty, columns, checks.

Nothing in this package formats numbers, draws or writes HTML. `akkm.report`,
`akkm.plot` and the command line present these records.

`_profiles`
    Which columns matter for a cluster: the effect of each column in original units, and
    the limit from which an effect counts.
`_column_profile`, `_typed`, `_words`
    Averages and shares of one column; kinds of columns; words of texts.
`_names`
    Names of clusters, made from the columns that matter.
`_columns`
    Means and spreads of the encoded columns per cluster, for the analyst's heat map.
`_distances`, `_certainty`
    Distances of rows to centers; certainty of labels; typical rows.
`_quality`, `_checks`
    Convergence, landmarks and kernel width; the checks that follow from them.
`_plane`, `_values`, `_sample`
    The map of rows in the plane; original values of rows; samples of rows.
`_layers`
    The tree of nested layers, and the stability of numbers of clusters.
`_classes`, `_changes`
    Comparison with given classes; comparison of two fits.
"""

from akkm.inspect._certainty import Certainty
from akkm.inspect._changes import ClusterChange, FitComparison, compare_fits
from akkm.inspect._checks import QualityCheck
from akkm.inspect._classes import ClassComparison, compare_with_classes
from akkm.inspect._column_profile import ColumnProfile
from akkm.inspect._columns import ColumnDifferences
from akkm.inspect._distances import CenterDistances
from akkm.inspect._inspection import Inspection
from akkm.inspect._layers import Layers
from akkm.inspect._names import cluster_names
from akkm.inspect._plane import MapPlane
from akkm.inspect._profiles import ClusterProfiles
from akkm.inspect._quality import Convergence, KernelSimilarity, LandmarkCoverage
from akkm.inspect._sample import RowSample, sample_rows
from akkm.inspect._typed import is_yes
from akkm.inspect._values import RowValues

__all__ = [
    "CenterDistances",
    "Certainty",
    "ClassComparison",
    "ClusterChange",
    "ClusterProfiles",
    "ColumnDifferences",
    "ColumnProfile",
    "Convergence",
    "FitComparison",
    "Inspection",
    "KernelSimilarity",
    "LandmarkCoverage",
    "Layers",
    "MapPlane",
    "QualityCheck",
    "RowSample",
    "RowValues",
    "cluster_names",
    "compare_fits",
    "compare_with_classes",
    "is_yes",
    "sample_rows",
]
