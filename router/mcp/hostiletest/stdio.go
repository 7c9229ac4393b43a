package hostiletest

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"time"
)

// spoken is a child's standard output.
type spoken struct {
	mu *sync.Mutex // one message at a time
}

// playStdio serves until its input ends.
func (s *Server) playStdio() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	v := &spoken{mu: &sync.Mutex{}}
	var all sync.WaitGroup
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // what is under way ends with the process
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if s.Fault == ClosesInput && m.Method == "tools/call" {
			os.Stdin.Close() // before it answers: what is written after the answer meets nobody
			s.serve(&m, v)
			linger()
			return
		}
		if m.Method == s.At && (s.Fault == Dropped || s.Fault == Killed || s.Fault == HalfThenEnd) {
			s.serve(&m, v) // whatever follows must not be served meanwhile
		}
		all.Go(func() { s.serve(&m, v) })
	}
}

// linger outlasts any test, but is not for ever.
func linger() { <-time.After(time.Minute) }

func (v *spoken) write(text string) { os.Stdout.WriteString(text) } //nolint:errcheck // whoever does not listen hears nothing

func (v *spoken) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.write(text + "\n")
}

func (v *spoken) begin(text string)   { v.write(text) }
func (v *spoken) end()                { v.write("\n") }
func (*spoken) gone() <-chan struct{} { return nil }

func (v *spoken) misdeed(f Fault, m *message, answer string) {
	switch f {
	case Dropped:
		os.Exit(0)
	case Killed:
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			os.Exit(9)
		}
		linger()
	case FloodsStderr:
		for range 50 {
			os.Stderr.WriteString(megabyte + "\n") //nolint:errcheck // see write
		}
		v.say(answer)
	case FloodsJunk:
		line := strings.Repeat("junk ", 200) + "\n"
		for range 50 << 10 {
			v.write(line)
		}
		v.say(answer)
	case Mumbles:
		v.write("Loading {5} ... ")
		v.say(answer)
	case ClosesOutput:
		os.Stdout.Close()
		linger()
	case ClosesInput: // see playStdio
		v.say(answer)
	default:
		v.say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32603,"message":"not over stdio"}}`)
	}
}
