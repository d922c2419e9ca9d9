"""sciret: scientific search for people who run repositories. This room imports nothing of ours."""

__version__ = "0.1.0"
