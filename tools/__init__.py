"""The commands behind the Makefile and CI."""
