package consultest

import (
	"context"
	"fmt"
	"net"
	"testing"
)

// ports are the agent's own: what it does not need for tests is switched off.
type ports struct {
	HTTP    int `json:"http"`
	Server  int `json:"server"`
	SerfLAN int `json:"serf_lan"`
	SerfWAN int `json:"serf_wan"`
	DNS     int `json:"dns"`
	GRPC    int `json:"grpc"`
	GRPCTLS int `json:"grpc_tls"`
}

// freePorts picks ports that are free for TCP and UDP both. They are free until
// somebody else takes them, so who starts an agent there tries again.
func freePorts(t testing.TB) ports {
	t.Helper()
	p := ports{SerfWAN: -1, DNS: -1, GRPC: -1, GRPCTLS: -1}
	var held []func() error
	defer func() {
		for _, release := range held {
			release() //nolint:errcheck // closes an unused socket
		}
	}()
	for _, port := range []*int{&p.HTTP, &p.Server, &p.SerfLAN} {
		n, release, err := hold(t.Context())
		if err != nil {
			t.Fatalf("no free port for the Consul agent: %v", err)
		}
		*port, held = n, append(held, release...)
	}
	return p
}

func hold(ctx context.Context) (port int, release []func() error, err error) {
	var listen net.ListenConfig
	for range 20 {
		tcp, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return 0, nil, err
		}
		port := tcp.Addr().(*net.TCPAddr).Port
		udp, err := listen.ListenPacket(ctx, "udp", tcp.Addr().String())
		if err == nil {
			return port, []func() error{tcp.Close, udp.Close}, nil
		}
		tcp.Close()
	}
	return 0, nil, fmt.Errorf("none of 20 TCP ports is free for UDP too")
}
