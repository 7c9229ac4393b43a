package wire

import (
	"context"
	"slices"

	"junction/router"
)

// Lookup returns the servers of a name: every instance of a service, else the one
// whose id it is. Where there is none after a fresh look, the error is a
// *router.UnknownServerError.
func (a *App) Lookup(ctx context.Context, name string) ([]*router.Server, error) {
	if found := lookup(a.servers.Snapshot(), name); len(found) > 0 {
		return found, nil
	}
	err := a.servers.Refresh(ctx)
	snapshot := a.servers.Snapshot()
	if found := lookup(snapshot, name); len(found) > 0 {
		return found, nil
	}
	unknown := &router.UnknownServerError{ID: name, Err: err}
	for _, s := range snapshot.Servers {
		unknown.Known = append(unknown.Known, s.ID)
	}
	return nil, unknown
}

func lookup(s *router.Snapshot, name string) []*router.Server {
	var found []*router.Server
	for _, by := range []func(*router.Server) string{
		func(s *router.Server) string { return s.Name },
		func(s *router.Server) string { return s.ID },
	} {
		for _, server := range s.Servers {
			if by(server) == name {
				found = append(found, server)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// At returns the server that has exactly this URL; nil: none has.
func (a *App) At(url string) *router.Server {
	all := a.servers.Snapshot().Servers
	if i := slices.IndexFunc(all, func(s *router.Server) bool { return s.Dial.URL == url }); i >= 0 {
		return all[i]
	}
	return nil
}
