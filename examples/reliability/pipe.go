package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"junction/router"
)

// relayVar makes this program the child whose standard streams are the transport:
// it hands every byte on to the stage at this address, which the lab directs.
const relayVar = "RELIABILITY_STAGE"

// relay runs in the child until the stage or the client hangs up.
func relay(address string, in io.Reader, out io.Writer) int {
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	over := make(chan error, 2)
	go func() {
		_, err := io.Copy(conn, in)
		over <- err
	}()
	go func() {
		_, err := io.Copy(out, conn)
		over <- err
	}()
	err = <-over
	conn.Close()
	if err != nil {
		return 1
	}
	return 0
}

// overPipe opens the stage to clients that start it as a child process.
func (s *stage) overPipe(ctx context.Context) (router.Dial, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return router.Dial{}, nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return router.Dial{}, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			serving.Go(func() {
				defer stop()
				s.lines(ctx, conn)
			})
		}
	})
	end := func() {
		cancel()
		l.Close()
		serving.Wait()
	}
	return router.Dial{Command: self, Env: map[string]string{relayVar: l.Addr().String()}}, end, nil
}

// lines serves one child until its pipe ends.
func (s *stage) lines(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	var writing sync.Mutex
	send := func(text string) error {
		writing.Lock()
		defer writing.Unlock()
		_, err := io.WriteString(conn, text+"\n")
		return err
	}
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method == "tools/call" {
			c := newScene(&m)
			c.send, c.hangUp = send, func() { conn.Close() }
			s.open(ctx, c)
			continue
		}
		if text := s.reply(&m); text != "" && send(text) != nil {
			return
		}
	}
}
