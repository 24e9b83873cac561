"""Copies without headers: which originals a record may be of, told by fingerprints of the contents."""
