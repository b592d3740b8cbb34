"""The tests: laws that hold for any stream, and stories of what happens on one."""
