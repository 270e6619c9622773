package state

// Status returns the status of a row: that of the first matching case. It is never StatusDeploying,
// since leases record the running resources, and rows do not.
func (r *Row) Status() Status {
	o := r.Current()
	switch {
	case r.Orphaned:
		return StatusOrphaned
	case r.Undefined():
		return StatusUndefined
	case r.BlockedBy != "", o.Blocked == NeedsDecision:
		return StatusBlocked
	case o.Blocked == BlockedTemp:
		return StatusSkipped
	case o.LastRun == RunFailed && (o.Class == ClassUnavailable || o.Class == ClassRefused):
		return StatusUnavailable
	case o.LastRun == RunFailed && o.Compliance != HasUpdate:
		return StatusFailed
	case o.LastRun == RunSkipped && o.Compliance != HasUpdate:
		return StatusSkipped
	case r.Hash != r.Deployed || o.Compliance == HasUpdate:
		return StatusAvailable
	case o.Compliance == NonCompliant:
		return StatusNonCompliant
	}
	return StatusDeployed
}
