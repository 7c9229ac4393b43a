package consul

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"junction/router"
)

// Service is what an MCP server says of itself.
type Service struct {
	Name    string // that instances share: letters, digits, '_', '-', at most 63
	ID      string // of this instance, one in its agent; "": name and address
	Address string // host:port that others reach it at
	Scheme  string // http or https; "": http
	Path    string // "": /mcp
	// Offers are its capabilities, at least one. Their attributes must be alike,
	// and mappings and probes are for the operator to say: both are errors.
	Offers        []router.Offer
	LatencyP95    time.Duration // 0: undeclared
	MaxConcurrent int           // 0: undeclared
	Depth         string        // of review; "": undeclared
	Version       string        // told as the attribute version; "": undeclared
	Check         Check

	// Weights against other instances while the check passes, and while it has
	// failed fewer times than makes it critical. 0: 1.
	WeightPassing, WeightWarning int

	// KeepTrying lets a first registration that fails go on in the background
	// instead of being an error. A service that Consul cannot take is one always.
	KeepTrying bool
}

// Check is how Consul finds out whether the service works.
type Check struct {
	URL             string        // asked with GET: 2xx passes. "": no check, so always passing
	Interval        time.Duration // 0: 15 s; Consul takes no less than 1 s
	Timeout         time.Duration // 0: 5 s
	Strikes         int           // failures in a row that make it critical, fewer warn; 0: 3
	DeregisterAfter time.Duration // critical for this long removes it; 0: 1 min, which is Consul's least

	// Ready is asked before each registration: nil from it registers the service
	// as passing, so that it gets its share at once. Otherwise, and where there is
	// no Ready, it is critical until Consul's own first look, up to an Interval later.
	Ready func(context.Context) error
}

// describe is the service as the agent takes it.
func describe(mark string, s Service) (*api.AgentServiceRegistration, error) {
	if !serviceRule.MatchString(s.Name) {
		return nil, fmt.Errorf("%q cannot name a service: letters, digits, '_' and '-' can, up to 63, beginning with a letter or digit", s.Name)
	}
	host, port, err := hostPort(s.Address)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.Name, err)
	}
	if s.ID == "" {
		s.ID = s.Name + "-" + strings.NewReplacer("[", "", "]", "", "%", "-").Replace(s.Address)
	}
	switch {
	case !instanceRule.MatchString(s.ID):
		return nil, fmt.Errorf("service %s: %q cannot be an instance's id: letters, digits, '.', '_', ':' and '-' can", s.Name, s.ID)
	case s.Scheme != "" && s.Scheme != "http" && s.Scheme != "https":
		return nil, fmt.Errorf("service %s: the scheme %q is neither http nor https", s.Name, s.Scheme)
	case s.Path != "" && !strings.HasPrefix(s.Path, "/"):
		return nil, fmt.Errorf("service %s: the path %q does not begin with /", s.Name, s.Path)
	case len(s.Offers) == 0:
		return nil, fmt.Errorf("service %s offers nothing: say which capabilities it has", s.Name)
	case s.WeightPassing < 0 || s.WeightWarning < 0 || s.LatencyP95 < 0 || s.MaxConcurrent < 0:
		return nil, fmt.Errorf("service %s declares a number below zero", s.Name)
	}
	tags, meta, err := claims(mark, s)
	if err != nil {
		return nil, err
	}
	check, err := s.Check.describe()
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", s.Name, err)
	}
	r := &api.AgentServiceRegistration{
		ID: s.ID, Name: s.Name, Address: host, Port: port, Tags: tags, Meta: meta, Check: check,
		Weights: &api.AgentWeights{Passing: max(1, s.WeightPassing), Warning: max(1, s.WeightWarning)},
	}
	return r, readable(mark, r)
}

// readable says what a router that finds the service could not make use of.
func readable(mark string, r *api.AgentServiceRegistration) error {
	var e entry
	e.Service.ID, e.Service.Address, e.Service.Port = r.ID, r.Address, r.Port
	e.Service.Tags, e.Service.Meta = r.Tags, r.Meta
	e.Service.Weights.Passing, e.Service.Weights.Warning = r.Weights.Passing, r.Weights.Warning
	found := (&Options{Tag: mark, Trust: true}).newInstance(r.Name, e)
	if len(found.problems) > 0 {
		return fmt.Errorf("service %s: no router could use it: %s", r.Name, strings.Join(found.problems, "; "))
	}
	return nil
}

// describe is the check as the agent takes it; nil for none.
func (c Check) describe() (*api.AgentServiceCheck, error) {
	if c.URL == "" {
		return nil, nil //nolint:nilnil // no check is a choice
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the check's URL is none of http or https: write it as http://HOST:PORT/PATH")
	}
	if c.Interval < 0 || c.Timeout < 0 || c.DeregisterAfter < 0 || c.Strikes < 0 {
		return nil, errors.New("the check has a time or a number of strikes below zero")
	}
	return &api.AgentServiceCheck{
		Name:                           "capability",
		HTTP:                           c.URL,
		Interval:                       cmp.Or(c.Interval, 15*time.Second).String(),
		Timeout:                        cmp.Or(c.Timeout, 5*time.Second).String(),
		FailuresBeforeWarning:          1,
		FailuresBeforeCritical:         cmp.Or(c.Strikes, 3),
		DeregisterCriticalServiceAfter: cmp.Or(c.DeregisterAfter, time.Minute).String(),
		Status:                         api.HealthCritical,
	}, nil
}

// hostPort takes an address apart that others are to reach.
func hostPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: %w; say HOST:PORT", address, err)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("address %q: the port is a number from 1 to 65535", address)
	}
	ip, err := netip.ParseAddr(host)
	if host == "" || err == nil && ip.IsUnspecified() {
		return "", 0, fmt.Errorf("address %q stands for every address of the machine: say the one that others reach it at", address)
	}
	return host, port, nil
}
