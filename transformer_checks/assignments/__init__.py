"""The tasks, an assignment a folder: its answers, cases, properties, tasks and mistakes."""
