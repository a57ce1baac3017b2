"""Puts cases to an answer, in a process with limits, and notes what it does; judges nothing.

`isolation` chooses a process: `child_process`, `clean_process` or `new_process`, which share
`process`. There `working` unpacks the answer, and `asking` puts the cases to it, under
`forbidden_calls`; plain data comes back by the `wire_format`.
"""
