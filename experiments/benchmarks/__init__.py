"""akkm beside scikit-learn, tslearn and the bare cost of a kernel pass."""
