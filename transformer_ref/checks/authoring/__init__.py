"""For those who write tasks: cases, made arguments, and mistakes that several tasks share."""
