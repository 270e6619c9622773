package state

// Status returns the status of a row: that of the first matching case. It is never StatusDeploying,
// since leases record the running resources, and rows do not.
func (r *Row) Status() Status {
	switch {
	case r.Orphaned:
		return StatusOrphaned
	case r.Undefined():
		return StatusUndefined
	case r.BlockedBy != "", r.Blocked == NeedsPerson:
		return StatusBlocked
	case r.Blocked == BlockedTemp:
		return StatusSkipped
	case r.LastRun == RunFailed && (r.Class == ClassUnavailable || r.Class == ClassRefused):
		return StatusUnavailable
	case r.LastRun == RunFailed && r.Compliance != HasUpdate:
		return StatusFailed
	case r.LastRun == RunSkipped && r.Compliance != HasUpdate:
		return StatusSkipped
	case r.Hash != r.Deployed || r.Compliance == HasUpdate:
		return StatusAvailable
	case r.Compliance == NonCompliant:
		return StatusNonCompliant
	}
	return StatusDeployed
}
