package inventory_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"junction/examples/codereview/server"
	"junction/examples/inventory"
)

// TestMain lets the test binary serve the example, as the command does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "example-server" {
		os.Exit(server.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// child is a process that serves the inventory in a file.
func child(file string, flags ...string) *exec.Cmd {
	args := append([]string{"example-server", "--reviewer", "inventory", "--ledger", file}, flags...)
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return c
}

// stdio starts a server as a process and connects to it.
func stdio(t *testing.T, file string, flags ...string) *client.Client {
	t.Helper()
	return connect(t, transport.NewStdioWithOptions(os.Args[0], nil, nil, transport.WithCommandFunc(
		func(context.Context, string, []string, []string) (*exec.Cmd, error) {
			return child(file, flags...), nil
		})))
}

// web is a server over HTTP, which can be killed and started again.
type web struct {
	file, address string
	process       *exec.Cmd
}

func serveHTTP(t *testing.T, file string) *web {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a free port, and no more
	if err != nil {
		t.Fatal(err)
	}
	w := &web{file: file, address: l.Addr().String()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.kill)
	w.start(t)
	return w
}

func (w *web) start(t *testing.T) {
	t.Helper()
	w.process = child(w.file, "--http", w.address)
	said, err := w.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, w.url()) {
		t.Fatalf("the server said %q, %v", line, err)
	}
}

func (w *web) url() string { return "http://" + w.address + "/mcp" }

// kill ends the process as kill -9 does.
func (w *web) kill() {
	if w.process != nil && w.process.Process != nil {
		w.process.Process.Kill() //nolint:errcheck // it may have ended
		w.process.Wait()         //nolint:errcheck // it was killed
		w.process = nil
	}
}

func (w *web) connect(t *testing.T) *client.Client {
	t.Helper()
	tr, err := transport.NewStreamableHTTP(w.url())
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, tr)
}

func connect(t *testing.T, tr transport.Interface) *client.Client {
	t.Helper()
	c := client.NewClient(tr)
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // a server that was told to end gives an error here
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func call(ctx context.Context, c *client.Client, tool string, arguments map[string]any) (*mcp.CallToolResult, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	return c.CallTool(ctx, r)
}

// order is a complete order; changes replace its members.
func order(key string, changes ...any) map[string]any {
	o := map[string]any{"sku": "bolt", "quantity": 2, "tenant": "acme", "operation": "order-7/line-1", "idempotencyKey": key}
	for i := 0; i < len(changes); i += 2 {
		o[changes[i].(string)] = changes[i+1]
	}
	return o
}

// answer is what reserve_inventory says.
type answer struct {
	Reservation, SKU, Tenant, Operation string
	Quantity, Free                      int64
	Payment                             map[string]any
}

// reserve calls the tool, which must succeed.
func reserve(t *testing.T, c *client.Client, o map[string]any) answer {
	t.Helper()
	r, err := call(t.Context(), c, "reserve_inventory", o)
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	return read[answer](t, r)
}

func read[T any](t *testing.T, r *mcp.CallToolResult) (v T) {
	t.Helper()
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// refused checks that an order is refused with a code.
func refused(t *testing.T, c *client.Client, o map[string]any, code string) {
	t.Helper()
	r, err := call(t.Context(), c, "reserve_inventory", o)
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := r.StructuredContent.(map[string]any); !r.IsError || said["code"] != code {
		t.Errorf("%v: %+v, want the code %s", o, r, code)
	}
}

// item reads an article's record out of the file.
func item(t *testing.T, file, sku string) inventory.Item {
	t.Helper()
	s := openStock(t, file)
	i, err := s.Item(t.Context(), sku)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func openStock(t *testing.T, file string) *inventory.Stock {
	t.Helper()
	s, err := inventory.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "inventory.db") }

// reservedIs checks that so much of the bolts is reserved, and the rest is free.
func reservedIs(t *testing.T, file string, want int64) {
	t.Helper()
	if i := item(t, file, "bolt"); i.Reserved != want || i.Free != 100-want {
		t.Errorf("the record is %+v, want %d reserved of 100", i, want)
	}
}

func keyed(n int) string { return fmt.Sprintf("key-%d", n) }
