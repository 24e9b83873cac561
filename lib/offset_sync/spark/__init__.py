"""The DataFrame rim around the pure core; knows Spark and Delta, never a Kafka client."""
