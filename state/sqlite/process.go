package sqlite

// process is the owner of a lease, as other processes can judge it.
type process struct {
	pid     int
	started string // the process's start time, in the system's own form; "" unknown
	world   string // where the pid means something; "" unknown
}

// gone says whether the process is known to have ended. What cannot be judged
// is not gone: its lease ends with its time.
func (p process) gone(self process) bool {
	if p.pid <= 0 || p.world != self.world {
		return false
	}
	if p.pid == self.pid && p.started == self.started {
		return false
	}
	return ended(p)
}
