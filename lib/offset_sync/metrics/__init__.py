"""What the jobs tell Prometheus: the catalogue of metrics, what fills them, and the endpoint."""
