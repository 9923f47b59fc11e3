"""What came of a run, for people and programs: JUnit XML, JSON, and one HTML page that needs nothing else."""
