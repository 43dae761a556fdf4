"""What all packages of traces share: errors, outcomes, refusals, files, and pools of threads or processes."""
