package redis

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
)

// sniff says what answers at a port that does not speak as expected, "" when
// that cannot be told.
func sniff(ctx context.Context, host string, t *target) string {
	config, err := t.tlsConfig()
	if err != nil {
		return ""
	}
	switch err := shake(ctx, host, config); {
	case config == nil && err == nil:
		return "speaks TLS: write rediss://, or tls=true for a cluster or sentinels"
	case alerted(err):
		return "speaks TLS, and refuses our part: give cert=FILE and key=FILE of an authority that it trusts"
	}
	answer := greet(ctx, host)
	switch {
	case answer == "":
		return ""
	case strings.HasPrefix(answer, "HTTP/"):
		return "is a web server, no Redis: correct the port"
	case answer[0] != '+' && answer[0] != '-':
		return "speaks no protocol of Redis: correct the port"
	case t.tls:
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

// shake makes a TLS handshake and listens for an objection, which may come after
// it. Nothing is sent, so without a configuration of ours the certificate does
// not matter. It is nil when the handshake succeeded and no objection came.
func shake(ctx context.Context, host string, config *tls.Config) error {
	if config == nil {
		config = &tls.Config{InsecureSkipVerify: true}
	}
	ctx, cancel := context.WithTimeout(ctx, grace/2) // a plain Redis waits for more
	defer cancel()
	conn, err := dialer(config, grace)(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := bound(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Read(make([]byte, 1)); alerted(err) {
		return err
	}
	return nil
}

func bound(ctx context.Context, conn net.Conn) error {
	if end, ok := ctx.Deadline(); ok {
		return conn.SetDeadline(end)
	}
	return nil
}
