package router

import (
	"net/netip"
	"time"
)

// Service is what the operator says of a service whose instances a registry
// names. It wins over what the registry says, which wins over the server.
type Service struct {
	Offers        []Offer // nil: what the registry and the servers say
	Trusted       bool    // the effect hints of its servers count
	LatencyP95    time.Duration
	MaxConcurrent int
	// Headers hold credentials. An instance gets them only where its address lies
	// in Addresses, or where its URL is https and its certificate is valid for
	// ServerName: whoever can register a service must not be handed them.
	Headers    map[string]string
	Auth       []Credential // bound in the same way
	Addresses  []netip.Prefix
	ServerName string
	CAFile     string // PEM; who may sign those certificates; "": the system's authorities
}
