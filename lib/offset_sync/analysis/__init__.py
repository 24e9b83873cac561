"""What notebooks ask of the tables, by delta-rs and DuckDB: no Spark, no Kafka, nothing is ever written."""
