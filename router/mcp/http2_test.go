package mcp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// Frames of HTTP/2 and their codes that tests name.
const (
	frameReset, frameGoAway = 3, 7
	noError                 = 0
	protocolError           = 1
	refusedStream           = 7
)

// spoken is a server of HTTP/2 under TLS; what it says when it breaks a request off
// is put by ends, which gets the stream's number.
func (a *authority) spoken(h http.Handler, ends func(stream uint32) []byte) *router.Server {
	a.t.Helper()
	inner := httptest.NewUnstartedServer(h)
	inner.Config.ErrorLog = log.New(io.Discard, "", 0)
	inner.Config.Protocols = new(http.Protocols)
	inner.Config.Protocols.SetUnencryptedHTTP2(true)
	inner.Start()
	a.t.Cleanup(inner.Close)
	der, key := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "h2"}, DNSNames: []string{"h2.internal"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert)
	front, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2"},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, cut := context.WithCancel(context.Background())
	a.t.Cleanup(func() { front.Close(); cut(); all.Wait() })
	all.Go(func() {
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", inner.Listener.Addr().String())
			if err != nil {
				client.Close()
				continue
			}
			context.AfterFunc(ctx, func() { client.Close(); server.Close() })
			all.Go(func() { io.Copy(server, client); server.Close() })
			all.Go(func() { retell(client, server, ends); client.Close(); server.Close() })
		}
	})
	return &router.Server{ID: "h2", Dial: router.Dial{
		URL: "https://" + front.Addr().String() + "/mcp", ServerName: "h2.internal", CAFile: a.file,
	}}
}

// retell passes frames on, and in place of a reset what ends says.
func retell(to io.Writer, from io.Reader, ends func(stream uint32) []byte) {
	for {
		frame := make([]byte, 9)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		payload := make([]byte, int(frame[0])<<16|int(frame[1])<<8|int(frame[2]))
		if _, err := io.ReadFull(from, payload); err != nil {
			return
		}
		if frame[3] == frameReset {
			frame, payload = ends(binary.BigEndian.Uint32(frame[5:])), nil
		}
		if _, err := to.Write(slices.Concat(frame, payload)); err != nil {
			return
		}
	}
}

func frameOf(kind byte, stream uint32, payload ...uint32) []byte {
	frame := []byte{0, 0, byte(4 * len(payload)), kind, 0}
	for _, n := range append([]uint32{stream}, payload...) {
		frame = binary.BigEndian.AppendUint32(frame, n)
	}
	return frame
}

// A server may have worked on what it ends with a protocol error. What it refuses, or
// leaves to its next connection, it has not looked at.
func TestOverHTTP2OnlyWhatTheServerRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, c := range []struct {
		name    string
		times   int64 // that the server breaks the call off; then it answers
		ends    func(stream uint32) []byte
		arrived int64
		want    state.Execution // "": the call succeeds
	}{
		{"a protocol error", 9, func(n uint32) []byte { return frameOf(frameReset, n, protocolError) }, 1, state.Unknown},
		{"an inner error", 9, func(n uint32) []byte { return frameOf(frameReset, n, 2) }, 1, state.Unknown},
		{"refused once", 1, func(n uint32) []byte { return frameOf(frameReset, n, refusedStream) }, 2, ""},
		{"refused always", 9, func(n uint32) []byte { return frameOf(frameReset, n, refusedStream) }, 3, state.NotExecuted},
		{"a connection that ends before it", 1, func(n uint32) []byte { return frameOf(frameGoAway, 0, n-2, noError) }, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var arrived atomic.Int64
			s := a.spoken(&scripted{call: func(w http.ResponseWriter, r *http.Request, id string) {
				if r.ProtoMajor != 2 {
					t.Errorf("the request came by %s", r.Proto)
				}
				if arrived.Add(1) <= c.times {
					panic(http.ErrAbortHandler)
				}
				status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)(w, r, id)
			}}, c.ends)
			_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
			if n := arrived.Load(); n != c.arrived {
				t.Errorf("the request arrived %d times, want %d", n, c.arrived)
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "":
				if e := callError(t, err); e.Execution != c.want || e.Code != router.Transport {
					t.Errorf("%s %s: %v", e.Code, e.Execution, e)
				}
			}
		})
	}
}
