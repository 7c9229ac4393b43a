package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Ports lie below those that systems give to outgoing connections. Above each
// lies another, on which its owner listens for as long as it wants to keep the
// first: so no test process takes a port whose server is down for a while, and
// the lock goes with the process.
const (
	firstPort = 15000
	ports     = 8500
)

// portNumber counts the ports asked for. Processes start at different places.
var portNumber atomic.Uint32

// port is a port of 127.0.0.1 that no other test uses until it is given back.
type port struct {
	number int
	lock   net.Listener
}

// reserve finds a port on which nobody listens.
func reserve(ctx context.Context) (*port, error) {
	for range ports {
		n := uint64(os.Getpid())*7919 + uint64(portNumber.Add(1))
		p := &port{number: firstPort + int(n%ports)}
		var err error
		if p.lock, err = listen(ctx, p.number+ports); err != nil {
			continue
		}
		l, err := listen(ctx, p.number)
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			return p, nil
		}
		if err := p.giveBack(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no port of 127.0.0.1 between %d and %d is free", firstPort, firstPort+ports)
}

// giveBack lets others have the port.
func (p *port) giveBack() error {
	if err := p.lock.Close(); err != nil {
		return fmt.Errorf("give port %d back: %w", p.number, err)
	}
	return nil
}

func listen(ctx context.Context, number int) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", hostPort(number))
}

func hostPort(number int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(number)) }
