"""Fuzzing of the readers of files.

Every file must be read, or refused with an error of akkm whose message says why.
`python -m tests.fuzz.readers FORMAT --seconds N` runs a coverage-guided fuzzer.
"""
