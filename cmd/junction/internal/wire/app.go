package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/static"
	"junction/state"
)

// closeWait bounds how long ending the servers may take.
const closeWait = 5 * time.Second

// ConfigError is a servers file that was not found or cannot be reached.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

// Settings say what to join.
type Settings struct {
	Store      string          // address; "": the servers file's, else DefaultStore
	Config     string          // servers file; "": looked for, see static.Find
	Workflow   string          // the workflow file it is looked for beside
	Dir        string          // what PWD stands for in the servers file; "": the working directory
	NeedConfig bool            // without a servers file: *static.NotFoundError instead of no servers
	Observer   router.Observer // watches hops; nil: nobody does
	Log        *slog.Logger
}

// App is a wired Junction.
type App struct {
	Store      state.Store
	Address    string // of the store that Open opened; "" for DefaultStore
	Router     *router.Router
	ConfigPath string // "" without a servers file

	client    *mcp.Client
	ownsStore bool
}

// Open reads the servers file, opens the store and builds the router. No
// server is started before it is needed.
func Open(ctx context.Context, s Settings) (*App, error) {
	config, err := loadConfig(s.Config, s.Workflow, s.Dir)
	if none := new(static.NotFoundError); errors.As(err, &none) {
		if s.NeedConfig {
			return nil, err
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	address := s.Store
	if address == "" && config != nil {
		address = config.Store
	}
	store, err := OpenStore(ctx, address)
	if err != nil {
		return nil, err
	}
	app := join(store, config, s)
	app.Address, app.ownsStore = address, true
	return app, nil
}

// OpenWith is Open on a store that is open already and stays the caller's.
func OpenWith(store state.Store, s Settings) (*App, error) {
	config, err := LoadConfig(s.Config, s.Workflow, s.Dir)
	if err != nil {
		return nil, err
	}
	return join(store, config, s), nil
}

// LoadConfig finds and reads the servers file; without one it returns nil.
//
// dir is what PWD stands for in it ("": the working directory): a thread that is
// resumed elsewhere means the directory it was started in.
func LoadConfig(flag, workflow, dir string) (*static.Config, error) {
	config, err := loadConfig(flag, workflow, dir)
	if none := new(static.NotFoundError); errors.As(err, &none) {
		return nil, nil
	}
	return config, err
}

// loadConfig is LoadConfig whose error says where a servers file was looked
// for: *static.NotFoundError.
func loadConfig(flag, workflow, dir string) (*static.Config, error) {
	if info, err := os.Stat(workflow); err == nil && info.IsDir() {
		workflow = filepath.Join(workflow, static.FileName) // what stands in it stands beside this
	}
	path, err := static.Find(workflow, flag)
	if err != nil {
		return nil, &ConfigError{err}
	}
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("working directory: %w", err)
		}
	}
	return static.Load(path, &static.Options{LookupEnv: func(name string) (string, bool) {
		if name == "PWD" {
			return dir, true
		}
		return os.LookupEnv(name)
	}})
}

func join(store state.Store, config *static.Config, s Settings) *App {
	client := mcp.New(&mcp.Options{Logger: s.Log})
	app := &App{Store: store, client: client}
	var discovery router.Discovery = none{}
	if config != nil {
		discovery, app.ConfigPath = config.Discovery(), config.Path
	}
	app.Router = router.New(discovery, client, &router.Options{Observer: s.Observer})
	return app
}

// Close ends the servers and closes a store that Open opened.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	err := a.client.Close(ctx)
	if a.ownsStore {
		err = errors.Join(err, a.Store.Close())
	}
	return err
}

// none discovers nothing: a workflow without hops needs no servers file.
type none struct{}

func (none) Snapshot() *router.Snapshot    { return &router.Snapshot{} }
func (none) Refresh(context.Context) error { return nil }
