package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Ports lie below those that systems give to outgoing connections: nobody takes
// one while its server is down between Kill and Restart.
const (
	firstPort = 15000
	ports     = 17000
)

// portNumber counts the ports asked for. Processes start at different places.
var portNumber atomic.Uint32

// listen opens the next port of 127.0.0.1 that is free.
func listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	for range ports {
		n := uint64(os.Getpid())*7919 + uint64(portNumber.Add(1))
		if l, err := config.Listen(ctx, "tcp", hostPort(firstPort+int(n%ports))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no port of 127.0.0.1 between %d and %d is free", firstPort, firstPort+ports)
}

// freePort returns a port of 127.0.0.1 on which nobody listens.
func freePort(ctx context.Context) (int, error) {
	l, err := listen(ctx)
	if err != nil {
		return 0, err
	}
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, nil
}

func hostPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
