"""The use cases: plan, up, status, down, the service verbs, doctor, evidence. Each observes, judges,
then shows or applies; none of them prints, and none decides what the plan decides."""
