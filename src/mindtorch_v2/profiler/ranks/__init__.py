"""Profiles of all processes of a job as one answer.

`summary` makes of one rank's profile what the answer needs (a pure function of a file, so that it can run anywhere),
`alignment` puts the ranks' clocks on one time axis, `meeting` finds each collective again on every rank, `answer` joins
it all.
"""
