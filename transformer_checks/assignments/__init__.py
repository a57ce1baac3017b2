"""The tasks, one folder per assignment, and the misconceptions that several of them share."""
