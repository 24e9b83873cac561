"""Pure: matches the copies of one partition with originals, by fingerprints of their contents."""
