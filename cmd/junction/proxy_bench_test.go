package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// echoEnv makes the test binary an MCP server over standard streams that answers
	// echo with 1 KiB: "earlier" without server/discover, else of both eras.
	echoEnv = "JUNCTION_TEST_ECHO"
	// copyEnv makes it a process between such a server and its client that copies bytes.
	copyEnv = "JUNCTION_TEST_COPY"
)

// playPiped ends the process where it is to be one of these.
func playPiped() {
	if os.Getenv(copyEnv) != "" {
		if err := copyStreams(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	era := os.Getenv(echoEnv)
	if era == "" {
		return
	}
	s := server.NewMCPServer("echo", "1.0.0")
	payload := strings.Repeat("x", 1024)
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(payload), nil
	})
	var in io.Reader = os.Stdin
	if era == "earlier" {
		in = withoutDiscover(os.Stdin, os.Stdout)
	}
	if err := server.NewStdioServer(s).Listen(context.Background(), in, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func copyStreams() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), copyEnv+"=")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		io.Copy(in, os.Stdin) //nolint:errcheck // its end is the end of what it copies
		in.Close()
	}()
	if _, err := io.Copy(os.Stdout, out); err != nil {
		return err
	}
	return cmd.Wait()
}

// withoutDiscover refuses the first line where it is server/discover; what comes after
// the handshake is not looked at.
func withoutDiscover(in io.Reader, out io.Writer) io.Reader {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err == nil && bytes.Contains(line, []byte(`"server/discover"`)) {
		var m struct{ ID json.RawMessage }
		if err = json.Unmarshal(line, &m); err == nil {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		}
		return lines
	}
	return io.MultiReader(bytes.NewReader(line), lines)
}

// piped speaks to a process over its standard streams.
type piped struct {
	b   *testing.B
	in  io.Writer
	out *bufio.Reader
	id  int
	buf []byte
}

func startPiped(b *testing.B, env []string, args ...string) *piped {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return &piped{b: b, in: in, out: bufio.NewReaderSize(out, 64<<10)}
}

// ask makes a request and reads to its answer.
func (p *piped) ask(method, params string) {
	p.id++
	p.buf = fmt.Appendf(p.buf[:0], `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.id, method, params)
	if _, err := p.in.Write(p.buf); err != nil {
		p.b.Fatal(err)
	}
	id := fmt.Appendf(p.buf[:0], `"id":%d,`, p.id)
	for {
		line, err := p.out.ReadSlice('\n')
		if err != nil {
			p.b.Fatal(err)
		}
		if !bytes.Contains(line, id) {
			continue // a notification
		}
		if bytes.Contains(line, []byte(`"error"`)) {
			p.b.Fatalf("%s: %s", method, line)
		}
		return
	}
}

const (
	laterMeta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`
	callOfEcho  = `{"name":"echo","arguments":{"text":"hello"}}`
	laterCall   = `{"name":"echo","arguments":{"text":"hello"},` + laterMeta + `}`
	earlierInit = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
)

// BenchmarkProxyHop is a call over pipes to a stdio server, the same call to one like
// it through a process that copies bytes, and through junction proxy, in turn: real
// processes, all of which meet the same machine. What the proxy adds is the difference
// of the medians; what any process in between adds is the copier's.
func BenchmarkProxyHop(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, server, handshake, opening, call string }{
		{"earlier", "earlier", "initialize", earlierInit, callOfEcho},
		{"later", "later", "server/discover", "{" + laterMeta + "}", laterCall},
		{"earlier-client", "later", "initialize", earlierInit, callOfEcho},
	} {
		b.Run(c.name, func(b *testing.B) {
			env := echoEnv + "=" + c.server
			all := []*piped{
				startPiped(b, []string{env}),
				startPiped(b, []string{env, copyEnv + "=1"}),
				startPiped(b, []string{commandEnv + "=1"}, "proxy", "--quiet", "--env", env, "--", self),
			}
			for _, p := range all {
				p.ask(c.handshake, c.opening)
				for range 100 { // whatever is done once
					p.ask("tools/call", c.call)
				}
			}
			took := make([][]time.Duration, len(all))
			for n := 0; b.Loop(); n++ {
				for i := range all {
					which := (n + i) % len(all) // none always goes first
					begun := time.Now()
					all[which].ask("tools/call", c.call)
					took[which] = append(took[which], time.Since(begun))
				}
			}
			b.StopTimer()
			p50 := make([]float64, len(all))
			for i, all := range took {
				slices.Sort(all)
				p50[i] = float64(all[len(all)/2].Nanoseconds()) / 1000
			}
			b.ReportMetric(p50[0], "direct-P50-µs")
			b.ReportMetric(p50[1]-p50[0], "copier-adds-P50-µs")
			b.ReportMetric(p50[2]-p50[0], "proxy-adds-P50-µs")
		})
	}
}
