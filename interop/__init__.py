"""The lab: real scripts in both styles, run under the real framework and under tapegrad, and compared."""
