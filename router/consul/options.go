package consul

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"junction/router"
)

// Options say where Consul is and what is believed of it. The zero value of each
// field but Address is its default. Of the environment only the usual variables of
// a proxy count.
type Options struct {
	// Address is the agent's, as http://127.0.0.1:8500, https://… or
	// unix:///run/consul.sock. It is required, and holds no credentials.
	Address string
	Token   string // ACL token; it needs service:read and node:read
	// TokenFile holds the token and wins over Token. It is read again when it
	// changes, so that a token can be replaced while a worker runs.
	TokenFile  string
	Datacenter string // "": the agent's own
	CAFile     string // PEM, of who signed Consul's certificate; "": the system's
	CertFile   string // PEM, our own certificate; with KeyFile
	KeyFile    string
	ServerName string // that Consul's certificate must be valid for; "": the address's host

	Tag      string                    // of services that speak MCP; "": "mcp"
	Trust    bool                      // effects, keys and ledgers in Meta count
	Services map[string]router.Service // the operator's word, by name of service
	Timeout  time.Duration             // of one request, apart from what it waits for a change; 0: 5 s
	Log      *slog.Logger              // nil: silent
	Seed     uint64                    // of the jitter between tries; 0: a random one
}

// defaultTimeout is of one request.
const defaultTimeout = 5 * time.Second

func (o Options) tag() string {
	if o.Tag == "" {
		return Mark
	}
	return o.Tag
}

func (o Options) timeout() time.Duration {
	if o.Timeout <= 0 {
		return defaultTimeout
	}
	return o.Timeout
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// base takes the address apart. Its faults do not quote it: it may hold a
// password.
func (o Options) base() (*url.URL, error) {
	if o.Address == "" {
		return nil, errors.New("no address of Consul; say for example http://127.0.0.1:8500")
	}
	u, err := url.Parse(o.Address)
	switch {
	case err != nil:
		return nil, errors.New("the address of Consul is no URL; say for example http://127.0.0.1:8500")
	case u.User != nil:
		return nil, errors.New("the address of Consul holds credentials; give it an ACL token, best in a file of its own")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the address of Consul %s has something behind ? or #; remove it", u.Host)
	case u.Scheme == "unix" && u.Path != "":
		return u, nil
	case u.Scheme == "unix":
		return nil, errors.New("the address of Consul names no socket; say for example unix:///run/consul.sock")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the address of Consul begins with neither http://, https:// nor unix://; say for example http://%s", hostOf(o.Address))
	case u.Hostname() == "":
		return nil, errors.New("the address of Consul names no host; say for example http://127.0.0.1:8500")
	}
	return u, nil
}

// hostOf is what somebody may have meant who left the scheme out.
func hostOf(address string) string {
	if u, err := url.Parse("http://" + address); err == nil && u.Port() != "" && u.User == nil {
		return u.Host
	}
	return "127.0.0.1:8500"
}

// shown is the address for people.
func (o Options) shown() string {
	u, err := o.base()
	if err != nil {
		return "(no usable address)"
	}
	return u.String()
}
