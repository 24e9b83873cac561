"""What the tests of the translation stand on: random logs and brute force. Never imported by a job."""
