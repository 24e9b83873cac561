"""Pure: which originals the copies of one partition may be of, told by fingerprints of their contents."""
