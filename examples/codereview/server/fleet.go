package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"time"

	"junction/router"
	"junction/router/consul"
)

// fleet is the flags that make a server one of many, which routers find by
// themselves.
type fleet struct {
	Consul        string        `help:"Register with the Consul agent at this URL while the server runs, such as http://127.0.0.1:8500." placeholder:"URL"`
	TokenFile     string        `help:"File with the ACL token for Consul." placeholder:"FILE" name:"consul-token-file"`
	Service       string        `help:"Name of the service; by default review-REVIEWER, and git, report, press or inventory." placeholder:"NAME"`
	Advertise     string        `help:"Address that others reach the server at; by default where it listens." placeholder:"HOST:PORT"`
	CheckInterval time.Duration `help:"Time between two of Consul's looks at /mcp/health." default:"15s"`
	LedgerName    string        `help:"Name of the ledger: give servers that share its file the same one, and no others. Unsaid, each server has its own." placeholder:"NAME"`
}

// services are the names that do not follow from the reviewer's.
var services = map[string]string{"diff": "git", "report": "report", "ledger": "press", "inventory": "inventory"}

// check reports flags that do not go together. A server that listens everywhere
// has no address of its own, and one on standard input and output has none at all.
func (f fleet) check(o Options) error {
	if f.Consul == "" {
		for _, unused := range []struct{ flag, value string }{
			{"--service", f.Service}, {"--advertise", f.Advertise}, {"--consul-token-file", f.TokenFile},
		} {
			if unused.value != "" {
				return fmt.Errorf("%s says how to register, and nothing is registered without --consul URL", unused.flag)
			}
		}
		return nil
	}
	if o.HTTP == "" {
		return errors.New("--consul registers an address, and this server has none: serve over HTTP with --http ADDR")
	}
	if f.Advertise != "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.HTTP)
	if err != nil {
		return nil //nolint:nilerr // listening will say it better
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return fmt.Errorf("--http %s listens on every address of this machine: say with --advertise HOST:PORT which one others reach it at", o.HTTP)
	}
	return nil
}

// register tells Consul of a server that listens at an address, and returns what
// takes it out again; without --consul that is nothing. A server that works when
// it registers gets its share of the calls at once. Where no agent answers yet, it
// serves those who know it and goes on trying: machines start in any order.
func (s *Server) register(ctx context.Context, listening net.Addr, log *slog.Logger) (leave func(context.Context) error, err error) {
	f := s.o.Fleet
	if f.Consul == "" {
		return func(context.Context) error { return nil }, nil
	}
	address := f.Advertise
	if address == "" {
		address = listening.String()
	}
	name := f.Service
	if name == "" {
		name = services[s.o.Reviewer]
	}
	if name == "" {
		name = "review-" + s.o.Reviewer
	}
	depth := ""
	if _, reviews := s.offer.Attributes["review_depth"]; reviews {
		depth = string(s.o.Depth)
	}
	health := url.URL{Scheme: "http", Host: address, Path: healthPath, RawQuery: url.Values{"capability": {s.offer.Capability}}.Encode()}
	r, err := consul.Register(ctx, consul.Options{Address: f.Consul, TokenFile: f.TokenFile, Log: log}, consul.Service{
		Name: name, Address: address, Path: "/mcp", Depth: depth, Version: s.o.version(),
		KeepTrying: true, Offers: append([]router.Offer{s.offer}, s.more...), LatencyP95: s.o.Latency, MaxConcurrent: s.o.Capacity,
		Check: consul.Check{
			URL: health.String(), Interval: f.CheckInterval,
			Ready: func(ctx context.Context) error {
				_, err := s.health.check(ctx)
				return err
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return r.Close, nil
}
