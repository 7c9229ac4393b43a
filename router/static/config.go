package static

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"junction/router"
	"junction/state/document"
)

// Options are the surroundings a servers file is read in; nil and the zero
// value take them from the process.
type Options struct {
	// LookupEnv finds environment variables; nil: [os.LookupEnv].
	LookupEnv func(name string) (string, bool)
	// Hostname goes into the default ledger name of a stdio server; "": [os.Hostname].
	Hostname string
}

// Config is a servers file without a fault. It is not changed after loading.
type Config struct {
	Path      string           // as it was given
	Store     string           // where threads are kept; may hold a password; "": unsaid
	Servers   []*router.Server // by ID, those that are not disabled
	Contracts map[string]router.Contract
	Consul    *Consul // where else servers are found; nil: nowhere
	Routing   Routing // how they are chosen, tried again and watched
	Proxy     Proxy   // how a bridge keeps them; read at its start only

	prints map[string]string // by server id: digest of all that is declared of it
	found  string            // digest of the section discovery; "": there is none
	routed string            // of the section routing
	read   func() ([]byte, error)
	opts   *Options
}

// String tells how much the file holds and nothing that may be secret.
func (c *Config) String() string {
	found := ""
	if c.Consul != nil {
		found = ", and " + c.Consul.String()
	}
	return fmt.Sprintf("%s: %d servers, %d contracts%s", c.Path, len(c.Servers), len(c.Contracts), found)
}

// GoString is String, so that %#v shows no secret either.
func (c *Config) GoString() string { return c.String() }

// Load reads the servers file at path. Faults of its content are a
// [document.Faults] with every one of them.
func Load(path string, opts *Options) (*Config, error) {
	read := func() ([]byte, error) { return read(path) }
	data, err := read()
	if err != nil {
		return nil, fmt.Errorf("read servers file: %w", err)
	}
	c, err := Parse(path, data, opts)
	if err != nil {
		return nil, err
	}
	c.read = read
	if err := c.approve(); err != nil {
		return nil, err
	}
	return c, nil
}

// read takes one byte more than may be parsed, so that a file of any size is
// refused without filling the memory.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
}

// Parse reads data as the servers file of the given path: the path stands in
// faults, and relative commands and directories are relative to its directory.
// The file itself is not looked at, then or later.
func Parse(file string, data []byte, opts *Options) (*Config, error) {
	if opts == nil {
		opts = &Options{}
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("servers file %s: %w", file, err)
	}
	doc, err := document.Parse(file, data)
	if err != nil {
		return nil, concealSyntax(err)
	}
	conceal := concealed(doc.Err())
	r := &reader{dir: dir, host: opts.Hostname, env: opts.LookupEnv}
	if r.env == nil {
		r.env = os.LookupEnv
	}
	c := r.config(doc.Root)
	if err := doc.Err(); err != nil {
		return nil, conceal(err)
	}
	c.Path, c.opts = file, opts
	return c, nil
}
