package diagnose_test

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"junction/router/diagnose"
)

// unaccepting is an address whose queue of connections is full: what else comes is
// dropped, as a firewall does.
func unaccepting(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 10 {
		conn, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("its queue does not fill")
	return ""
}

func TestWhatIsDroppedOnTheWayIsTheNetworks(t *testing.T) {
	t.Parallel()
	r := diagnosed(t, at("http://"+unaccepting(t)+"/mcp"), &diagnose.Options{Patience: 500 * time.Millisecond})
	blames(t, r, diagnose.Network, "did not answer in time", "firewall")
}
