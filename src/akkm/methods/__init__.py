"""Methods besides approximate kernel k-means: exact, leaders and Nyström spectral.

Each module computes one method on validated arrays, without estimator parameters. The
approximate method is in `akkm.approx`, and walks on graphs are in `akkm.diffusion`.
"""
