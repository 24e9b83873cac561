"""The pure core: arrays in, arrays out. No Spark, no Kafka, no clock, no logging."""
