"""The version of the package, which a test compares with that of include/otolith/version.h."""
VERSION = "0.1.0"
