"""What is read of the databases of earlier crawls."""
