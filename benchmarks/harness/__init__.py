"""Processes, turns, checks and tables; nothing here knows a workload."""
