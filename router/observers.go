package router

// Observers is one observer that tells all of these, in their order; nil ones are
// left out. Those that are a [ServerObserver] are told of servers, too.
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
	}
	return &o
}

type observers struct {
	all       []Observer
	ofServers []ServerObserver
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
