"""The loop: kernel strip, factored landmarks, nearest centers, bounds, Lloyd, model.

Everything that assigns rows to centers and updates centers belongs here, in plain
arrays. Where rows are stored, how landmarks are chosen and what users call parameters
does not.
"""
