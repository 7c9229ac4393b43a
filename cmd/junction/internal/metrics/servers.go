package metrics

import (
	"strconv"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// Words for how something ended.
const (
	success = "success"
	failure = "failure"
)

func ending(well bool) string {
	if well {
		return success
	}
	return failure
}

// OnHandshake counts an attempt to connect a server ([mcp.Options]).
func (m *Metrics) OnHandshake(_ string, took time.Duration, failed router.Code) {
	m.handshakes.WithLabelValues(ending(failed == "")).Inc()
	m.handshakeDuration.Observe(took.Seconds())
}

// OnStateChange counts servers by where their connection stands ([mcp.Options]).
func (m *Metrics) OnStateChange(server string, is mcp.State) {
	m.conns.mu.Lock()
	defer m.conns.mu.Unlock()
	if was, known := m.conns.by[server]; known {
		m.connections.WithLabelValues(string(was)).Dec()
	}
	if is == mcp.Closed {
		delete(m.conns.by, server)
		return
	}
	m.conns.by[server] = is
	m.connections.WithLabelValues(string(is)).Inc()
}

// OnStray counts a message that belonged to no request ([mcp.Options]).
func (m *Metrics) OnStray(server string, kind mcp.Stray) {
	m.strays.WithLabelValues(m.servers.of(server).name, string(kind)).Inc()
	switch kind {
	case mcp.LateAnswer, mcp.DuplicateAnswer, mcp.WrongID:
		m.duplicates.WithLabelValues(string(kind)).Inc()
	}
}

// OnReconnect counts a subscription that ended ([mcp.Options]).
func (m *Metrics) OnReconnect(p mcp.ReconnectPlan) {
	m.resubscribed.WithLabelValues(m.servers.of(p.Server).name).Inc()
}

// OnDrift implements [router.ServerObserver].
func (m *Metrics) OnDrift(server string, sameVersion bool) {
	m.drift.WithLabelValues(m.servers.of(server).name, strconv.FormatBool(sameVersion)).Inc()
}

// OnHeldBack implements [router.ServerObserver].
func (m *Metrics) OnHeldBack(server, _ string) {
	m.heldBack.WithLabelValues(m.servers.of(server).name).Inc()
}

// OnProbe counts a probe of a server.
func (m *Metrics) OnProbe(server string, well bool) {
	m.probes.WithLabelValues(m.servers.of(server).name, ending(well)).Inc()
}
