"""What the commands share: prepare, record, measure, print."""
