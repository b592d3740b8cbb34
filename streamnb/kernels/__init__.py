"""Serial numba loops over the tables: score, learn, unlearn, explain.

Numba keeps machine code beside the module of the function that was called, and looks only at that module to tell
whether it is still right: who changes one of these removes `__pycache__` here.
"""
