package redis

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
)

// sniff says what answers at a port that does not speak as expected, "" when
// that cannot be told.
func sniff(ctx context.Context, host string, secure bool) string {
	if !secure && speaksTLS(ctx, host) {
		return "speaks TLS: write rediss://, or tls=true for a cluster or sentinels"
	}
	answer := greet(ctx, host)
	switch {
	case answer == "":
		return ""
	case strings.HasPrefix(answer, "HTTP/"):
		return "is a web server, no Redis: correct the port"
	case answer[0] != '+' && answer[0] != '-':
		return "speaks no protocol of Redis: correct the port"
	case secure:
		return "speaks no TLS: write redis://, leave tls=true out, or give its TLS port"
	}
	return ""
}

// greet sends what both Redis and web servers answer to.
func greet(ctx context.Context, host string) string {
	conn, err := dialer(nil, grace)(ctx, "tcp", host)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if err := bound(ctx, conn); err != nil {
		return ""
	}
	if _, err := conn.Write([]byte("PING\r\n\r\n")); err != nil {
		return ""
	}
	answer := make([]byte, 16)
	n, err := conn.Read(answer)
	if err != nil {
		return ""
	}
	return string(answer[:n])
}

// speaksTLS says whether a TLS handshake gets far enough to tell. Nothing is
// sent, so the certificate does not matter.
func speaksTLS(ctx context.Context, host string) bool {
	conn, err := dialer(nil, grace)(ctx, "tcp", host)
	if err != nil {
		return false
	}
	defer conn.Close()
	within, cancel := context.WithTimeout(ctx, grace/2) // a plain Redis waits for more
	defer cancel()
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(within)
	return err == nil || alerted(err)
}

func bound(ctx context.Context, conn net.Conn) error {
	if end, ok := ctx.Deadline(); ok {
		return conn.SetDeadline(end)
	}
	return nil
}
