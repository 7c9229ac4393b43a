package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"
)

// tlsConfig reads the files that the address names; nil without TLS.
func (t *target) tlsConfig() (*tls.Config, error) {
	if !t.tls {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.certifiedAs}
	if t.ca != "" {
		data, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, fmt.Errorf("setting ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("setting ca: %s holds no certificate in PEM", t.ca)
		}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, fmt.Errorf("settings cert %s and key %s: %w", t.cert, t.key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// dialer connects within ctx, the TLS handshake included.
func dialer(config *tls.Config, timeout time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3, // a peer that vanished is noticed in 45 s
	}}
	if config == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: config}).DialContext
}

// dial is dialer for connections whose calls can be cancelled.
func (f *flights) dial(config *tls.Config, timeout time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := dialer(config, timeout)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return f.watch(conn), nil
	}
}
