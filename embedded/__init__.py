"""The Store on one SQLite file and numpy."""
