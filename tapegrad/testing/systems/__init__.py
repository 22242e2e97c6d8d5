"""Whose function is checked: one small adapter for each framework, imported when it is wanted.

An adapter sees to it that a function of anybody's arrays becomes a function of NumPy arrays with a pullback.
"""
