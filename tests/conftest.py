"""One profile for hypothesis: the same examples on every run, and no clock."""

from hypothesis import settings

settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=100)
settings.load_profile("ci")
