package router

// Observers is one observer that tells all of these, in their order; nil ones are
// left out. Those that are a [ServerObserver] are told of servers, too, and those that are
// a [ProbeObserver] of probes.
func Observers(all ...Observer) Observer {
	var o observers
	for _, each := range all {
		if each == nil {
			continue
		}
		o.all = append(o.all, each)
		if s, ok := each.(ServerObserver); ok {
			o.ofServers = append(o.ofServers, s)
		}
		if p, ok := each.(ProbeObserver); ok {
			o.ofProbes = append(o.ofProbes, p)
		}
	}
	return &o
}

type observers struct {
	all       []Observer
	ofServers []ServerObserver
	ofProbes  []ProbeObserver
}

func (o *observers) OnDecision(h HopInfo, d Decision) {
	for _, each := range o.all {
		each.OnDecision(h, d)
	}
}

func (o *observers) OnAttempt(h HopInfo, a AttemptInfo) {
	for _, each := range o.all {
		each.OnAttempt(h, a)
	}
}

func (o *observers) OnOutcome(h HopInfo, a AttemptInfo, out OutcomeInfo) {
	for _, each := range o.all {
		each.OnOutcome(h, a, out)
	}
}

func (o *observers) OnProgress(h HopInfo, a AttemptInfo, p Progress) {
	for _, each := range o.all {
		each.OnProgress(h, a, p)
	}
}

func (o *observers) OnDrift(server string, sameVersion bool) {
	for _, each := range o.ofServers {
		each.OnDrift(server, sameVersion)
	}
}

func (o *observers) OnHeldBack(server, tool string) {
	for _, each := range o.ofServers {
		each.OnHeldBack(server, tool)
	}
}

func (o *observers) OnProbe(server string, well bool) {
	for _, each := range o.ofProbes {
		each.OnProbe(server, well)
	}
}
